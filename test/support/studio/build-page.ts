import { buildPage } from "../../../tools/build-page.ts";

/** Before tests of the page: builds it, because nothing says whether it is stale. */
export default (): Promise<void> => buildPage();
