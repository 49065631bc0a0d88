import fc from "fast-check";
import { firstSeed } from "./cases.ts";
// Imported here, so that a worker runs it once: this file runs anew for each file of tests.
import "./direct-imports.ts";

// `npm test` always draws the same properties' cases, so that it says the same of the same code; `.ci/run` draws others.
fc.configureGlobal({ seed: firstSeed });
