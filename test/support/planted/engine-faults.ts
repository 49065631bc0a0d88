import { billFaults } from "./bill-faults.ts";
import { logFaults } from "./log-faults.ts";
import { outsideFaults } from "./outside-faults.ts";
import { foldFaults, planningFaults } from "./planning-faults.ts";
import type { PlantedFault } from "./planted-fault.ts";
import { providerFaults } from "./provider-faults.ts";
import { askedFaults, runFaults } from "./run-faults.ts";
import { tracingFaults } from "./tracing-faults.ts";

export const engineFaults: readonly PlantedFault[] = [
  ...planningFaults,
  ...foldFaults,
  ...runFaults,
  ...logFaults,
  ...askedFaults,
  ...providerFaults,
  ...billFaults,
  ...tracingFaults,
  ...outsideFaults,
];
