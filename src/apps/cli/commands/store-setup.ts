import type * as z from "zod";
import { isPostgresAddress, parsePostgresAddress } from "../../../stores/postgres/address.ts";
import { schemaVersion } from "../../../stores/postgres/schema.ts";
import {
  grantPostgresRoles,
  grantStatements,
  initPostgresStore,
  initStatements,
  migratePostgresStore,
  type PostgresRoles,
  type SetupResult,
} from "../../../stores/postgres/setup.ts";
import { setupDocument } from "../../documents/stores.ts";
import { type CommandInput, commandCode } from "../command.ts";
import { type CliContext, shownUrl } from "../context.ts";
import { UsageError } from "../exit-codes.ts";

type Options = PostgresRoles & { readonly print?: boolean };

/** Creates a store. */
export const init = setupCommand("init", {
  work: (url) => initPostgresStore(url),
  statements: (schema) => initStatements(schema),
  words: ({ from, to, store }) =>
    from === 0
      ? `created the store ${store} (schema version ${to})`
      : `${store} is there already (schema version ${to})`,
});

/** Brings a store to this turnlog's schema. */
export const migrate = setupCommand("migrate", {
  work: (url) => migratePostgresStore(url),
  statements: () => [],
  words: ({ from, to, store }) =>
    from === to
      ? `${store} is up to date (schema version ${to})`
      : `migrated ${store} from schema version ${from} to ${to}`,
});

/** Lets roles use a store. */
export const grants = setupCommand("grants", {
  work(url, roles) {
    checkRoles(roles);
    return grantPostgresRoles(url, roles);
  },
  statements(schema, roles) {
    checkRoles(roles);
    return grantStatements(schema, roles);
  },
  words({ roles: { writer, reader }, store }) {
    const given = [writer === null ? [] : [`${writer} may append`], reader === null ? [] : [`${reader} may read`]];
    return `${given.flat().join(", ")} in ${store}`;
  },
});

type Setup = {
  readonly work: (url: string, roles: PostgresRoles) => Promise<SetupResult>;
  /** What `--print` prints. */
  readonly statements: (schema: string, roles: PostgresRoles) => readonly string[];
  readonly words: (document: z.infer<typeof setupDocument>) => string;
};

function setupCommand(action: "init" | "migrate" | "grants", { work, statements, words }: Setup) {
  return commandCode({
    document: setupDocument,

    async *run(context, { options }: CommandInput<Options>) {
      const { print = false, ...roles } = options;
      const { storeUrl: url } = context;
      const { schema } = addressOf(context, action);
      const told = {
        action,
        store: shownUrl(url),
        roles: { writer: roles.writer ?? null, reader: roles.reader ?? null },
      };
      if (print) {
        const to = schemaVersion;
        yield { ...told, storeId: null, from: 0, to, statements: [...statements(schema, roles)] };
      } else yield { ...told, ...(await work(url, roles)), statements: null };
    },

    render(document, { print }) {
      if (document.statements === null) print(words(document));
      else for (const statement of document.statements) print(...`${statement};`.split("\n"));
    },
  });
}

function addressOf({ storeUrl }: CliContext, action: string) {
  if (isPostgresAddress(storeUrl)) return parsePostgresAddress(storeUrl);
  throw new UsageError(
    `store ${action} is for postgres: stores, and ${shownUrl(storeUrl)} is not one: name one with --store postgres://HOST/DATABASE`,
  );
}

function checkRoles({ writer, reader }: PostgresRoles): void {
  if (writer === undefined && reader === undefined)
    throw new UsageError("no role was given: name one with --writer or --reader");
}
