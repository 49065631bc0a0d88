import { render } from "preact";
import { listenForKeys } from "./keys.ts";
import { followStore, stores } from "./live.ts";
import { listenForDrops } from "./offline/dropped.ts";
import { AuditPage } from "./pages/audit.tsx";
import { Biography } from "./pages/biography.tsx";
import { Conversations } from "./pages/conversations.tsx";
import { Costs } from "./pages/costs.tsx";
import { ForksPage } from "./pages/forks.tsx";
import { InboxPage } from "./pages/inbox.tsx";
import { ReportPage } from "./pages/report.tsx";
import { WhatIfPage } from "./pages/what-if.tsx";
import { Workspace } from "./pages/workspace.tsx";
import { Shell } from "./parts/shell.tsx";
import { go, route } from "./route.ts";
import { applyTheme } from "./theme.ts";
import { showWholeTexts } from "./whole-text.ts";

/** The page that an address names. */
function Page() {
  const { path } = route.value;
  const [, asked] = /^\/c\/([^/]+)\/what-if$/.exec(path) ?? [];
  if (asked !== undefined) return <WhatIfPage key={asked} id={decodeURIComponent(asked)} />;
  const [, family] = /^\/c\/([^/]+)\/forks$/.exec(path) ?? [];
  if (family !== undefined) return <ForksPage key={family} id={decodeURIComponent(family)} />;
  const [, id, block] = /^\/c\/([^/]+)(?:\/b\/(.+))?$/.exec(path) ?? [];
  if (id !== undefined && block !== undefined)
    return <Biography key={id} id={decodeURIComponent(id)} block={decodeURIComponent(block)} />;
  if (id !== undefined) return <Workspace key={id} id={decodeURIComponent(id)} />;
  if (path === "/inbox") return <InboxPage />;
  if (path === "/report") return <ReportPage />;
  if (path === "/audit") return <AuditPage />;
  if (path === "/costs") return <Costs />;
  if (path === "/") return <Conversations />;
  return (
    <Shell title="Not found" foot={null}>
      <main class="empty">
        <h1>There is no page {path}</h1>
        <button type="button" class="button" onClick={() => go("/")}>
          Show the conversations
        </button>
      </main>
    </Shell>
  );
}

/** Shows the page. One from disk has nothing to follow. */
export function startPage({ isLive }: { readonly isLive: boolean }): void {
  applyTheme();
  listenForKeys();
  listenForDrops();
  showWholeTexts();
  if (isLive) void followStore();
  const app = document.getElementById("app");
  if (app !== null) render(<Root />, app);
}

const Root = () => <Page key={stores.value} />;
