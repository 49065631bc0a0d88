import { test } from "vitest";

test.skip("the studio's page: no Chromium is installed here, and TURNLOG_BROWSER names none", () => undefined);
