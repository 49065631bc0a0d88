import { flushCompileCache } from "node:module";

/** A process that is killed has no time to keep what it compiled for the next one: it does so when it begins. */
flushCompileCache();
