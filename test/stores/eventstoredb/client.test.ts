import { loadDriver } from "../../../src/stores/eventstoredb/client.ts";
import { describeClient } from "../../support/stores/eventstoredb-client.ts";

describeClient("the client that is installed", loadDriver);
