import ts from "typescript";

/** What users of a package see of its types. */
type PublicTypes = {
  /** How many names the entries export. */
  readonly exported: number;
  /** Types in the declarations of those that no entry exports, each with who shows it: `Hidden of openStore`. */
  readonly unnamed: readonly string[];
};

/**
 * Looks at what the entries of a package export, as their declarations have it, what is inferred included: users want to write down what a
 * function takes and gives. What a declaration takes a value's type from is told by the name that it gives to that.
 *
 * @param entries - The declarations of the entries.
 * @param folder - Types from elsewhere are not the package's.
 * @param instead - Texts in the place of files.
 */
export function publicTypes(
  entries: readonly string[],
  folder: string,
  instead: ReadonlyMap<string, string> = new Map(),
): PublicTypes {
  const program = programOf(entries, instead);
  const checker = program.getTypeChecker();
  const meant = (symbol: ts.Symbol): ts.Symbol =>
    symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
  const isOurs = (node: ts.Node): boolean => node.getSourceFile().fileName.startsWith(folder);
  const exported = new Map<ts.Symbol, string>();
  for (const entry of entries) {
    const source = program.getSourceFile(entry);
    const module = source && checker.getSymbolAtLocation(source);
    if (module === undefined) throw new Error(`${entry} exports nothing`);
    for (const symbol of checker.getExportsOfModule(module)) exported.set(meant(symbol), symbol.name);
  }
  const unnamed = new Set<string>();
  for (const [symbol, name] of exported)
    for (const declaration of symbol.declarations?.filter(isOurs) ?? [])
      for (const reference of typeNames(declaration)) {
        const found = checker.getSymbolAtLocation(reference);
        const used = found && meant(found);
        const [at] = used?.declarations ?? [];
        if (used === undefined || at === undefined || !isOurs(at) || ts.isTypeParameterDeclaration(at)) continue;
        if (!exported.has(used)) unnamed.add(`${used.name} of ${name}`);
      }
  return { exported: exported.size, unnamed: [...unnamed].toSorted() };
}

/** What the compiler knows of declarations. */
export function programOf(entries: readonly string[], instead: ReadonlyMap<string, string> = new Map()): ts.Program {
  const options = { module: ts.ModuleKind.NodeNext, target: ts.ScriptTarget.ES2024, strict: true, types: ["node"] };
  const host = ts.createCompilerHost(options);
  const read = host.readFile.bind(host);
  const readFile = (name: string): string | undefined => instead.get(name) ?? read(name);
  const getSourceFile: typeof host.getSourceFile = (name, language) => {
    const known = parsed.get(name);
    if (known !== undefined && !instead.has(name)) return known;
    const text = readFile(name);
    const source = text === undefined ? undefined : ts.createSourceFile(name, text, language);
    if (source !== undefined && !instead.has(name)) parsed.set(name, source);
    return source;
  };
  return ts.createProgram([...entries], options, { ...host, readFile, getSourceFile });
}

/** Files as they were read for an earlier look: most are the compiler's libraries, and the same each time. */
const parsed = new Map<string, ts.SourceFile>();

/** The names of types that a reader of a declaration sees. */
function typeNames(declaration: ts.Node): readonly ts.Node[] {
  const found: ts.Node[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isTypeReferenceNode(node)) found.push(node.typeName);
    if (ts.isExpressionWithTypeArguments(node)) found.push(node.expression);
    if (ts.isImportTypeNode(node) && node.qualifier !== undefined) found.push(node.qualifier);
    ts.forEachChild(node, visit);
  };
  ts.forEachChild(declaration, visit);
  return found;
}
