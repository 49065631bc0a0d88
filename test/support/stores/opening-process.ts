import { openSqliteStore } from "../../../src/stores/sqlite/store.ts";

/** Opens a store as a user whom permissions bind, and says what came of it: `node opening-process.ts <file>`. */
const nobody = 65_534;
if (process.getuid?.() === 0) process.setuid?.(nobody);
try {
  await openSqliteStore(process.argv[2] ?? "");
  console.log("opened");
} catch (error) {
  console.log(JSON.stringify(error), String(error));
}
