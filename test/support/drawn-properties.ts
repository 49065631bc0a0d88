import fc from "fast-check";
import { firstSeed } from "./cases.ts";

// `npm test` always draws the same properties' cases, so that it says the same of the same code; `.ci/run` draws others.
fc.configureGlobal({ seed: firstSeed });
