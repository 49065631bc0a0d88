import { bundledPage, openBundledPage } from "./offline/page.ts";
import { startPage } from "./start.tsx";
import "./styles/base.css";
import "./styles/workspace.css";
import "./styles/tables.css";
import "./styles/inbox.css";
import "./styles/audit.css";
import "./styles/what-if.css";
import "./styles/forks.css";

const bundled = bundledPage();
if (bundled !== null) openBundledPage(bundled);
startPage({ isLive: bundled === null });
