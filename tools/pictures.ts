/**
 * Takes the pictures of the README and of docs/STUDIO.md, from the store of the demo: `node tools/pictures.ts` (needs Chromium, and the built
 * page).
 */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";
import { listen } from "../src/apps/studio/listen.ts";
import { pageFiles } from "../src/apps/studio/page-files.ts";
import { studioOver } from "../src/apps/studio/studio.ts";
import { openStore } from "../src/conversation/open-store.ts";
import { browserPath } from "../test/support/studio/browser-path.ts";

const root = join(import.meta.dirname, "..");
const folder = mkdtempSync(join(tmpdir(), "turnlog-"));
const address = `sqlite:${join(folder, "demo.db")}`;

const pictures = [
  { name: "studio-light", path: "?r=24", shown: ".stack-row" },
  { name: "studio-dark", path: "?r=24", shown: ".stack-row", scheme: "dark" },
  { name: "studio-time", path: "?r=16&view=time", shown: ".time-row" },
  { name: "studio-narrow", path: "?r=24", shown: ".stack-row", width: 390, height: 844 },
] as const;

try {
  execFileSync(process.execPath, [join(root, "src/apps/cli/main.ts"), "demo", "-q", "--store", address]);
  await using store = await openStore(address);
  const id = (await store.list()).conversations[0]?.id ?? "";
  const studio = studioOver(
    { store, access: () => true, address: "sqlite:./demo.db" },
    { file: pageFiles(join(root, "dist/studio")) },
  );
  await using served = await listen({ host: "127.0.0.1", port: 0, orNext: false }, () => studio);
  const browser = await chromium.launch({
    executablePath: browserPath ?? "",
    args: ["--no-sandbox", "--disable-lcd-text", "--font-render-hinting=none"],
  });
  mkdirSync(join(root, "docs/pictures"), { recursive: true });
  for (const picture of pictures) {
    const {
      name,
      path,
      shown,
      scheme = "light",
      width = 1440,
      height = 900,
    } = { scheme: undefined, width: undefined, height: undefined, ...picture };
    const page = await browser.newPage({ viewport: { width, height }, colorScheme: scheme });
    await page.goto(`http://127.0.0.1:${served.port}/c/${id}${path}`);
    await page.locator(shown).first().waitFor();
    await page
      .getByRole("button", { name: /not checked/ })
      .filter({ visible: true })
      .click({ timeout: 1_000 })
      .catch(() => undefined);
    await page
      .getByText(/verified, 66 events/)
      .waitFor({ timeout: 2_000 })
      .catch(() => undefined);
    await page.screenshot({ path: join(root, `docs/pictures/${name}.png`) });
    await page.close();
  }
  await browser.close();
} finally {
  rmSync(folder, { recursive: true, force: true });
}
