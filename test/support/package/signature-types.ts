import ts from "typescript";

/** Whether a type is what a caller gives, or what a caller gets. */
type Way = "given" | "got";

type Signatures = {
  /** The names of the values that the module exports. */
  readonly values: readonly string[];
  /** The names of the types that it exports besides. */
  readonly types: readonly string[];
  /** Those of them that the signatures of the values name. */
  readonly named: ReadonlySet<string>;
};

/**
 * The types that the signatures of a module's values name: of what a caller gives, everything that it is made of; of what a caller gets, its
 * name, and the same of its methods. What only stands in a property of a result is reached through the result, and is not among them.
 *
 * @param asked - The path of its declarations, and the package's folder: types from elsewhere are not the package's.
 */
export function signatureTypes(
  program: ts.Program,
  { module, folder }: { readonly module: string; readonly folder: string },
): Signatures {
  const checker = program.getTypeChecker();
  const meant = (symbol: ts.Symbol): ts.Symbol =>
    symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
  const source = program.getSourceFile(module);
  const exporting = source && checker.getSymbolAtLocation(source);
  if (source === undefined || exporting === undefined) throw new Error(`${module} exports nothing`);
  const exported = checker
    .getExportsOfModule(exporting)
    .map((symbol) => ({ name: symbol.name, symbol: meant(symbol) }));
  // A class that is exported as a type only is a type.
  const isValue = (name: string, symbol: ts.Symbol): boolean =>
    (symbol.flags & ts.SymbolFlags.Value) !== 0 && !typeOnly(source, name);
  const values = exported.filter(({ name, symbol }) => isValue(name, symbol));

  const named = new Set<ts.Symbol>();
  const seen = new Set<string>();
  const ids = new Map<ts.Symbol, number>();
  const follow = (symbol: ts.Symbol, way: Way): void => {
    const id = ids.get(symbol) ?? ids.size;
    ids.set(symbol, id);
    if (seen.has(`${id} ${way}`)) return;
    seen.add(`${id} ${way}`);
    for (const declaration of symbol.declarations ?? [])
      if (declaration.getSourceFile().fileName.startsWith(folder)) visitDeclaration(declaration, way);
  };
  const visitDeclaration = (node: ts.Node, way: Way): void => {
    if (ts.isTypeParameterDeclaration(node)) return;
    if (ts.isClassDeclaration(node) || ts.isInterfaceDeclaration(node)) {
      for (const { constraint } of node.typeParameters ?? []) if (constraint !== undefined) visit(constraint, "given");
      for (const { types } of node.heritageClauses ?? []) for (const type of types) visit(type, way);
      visitMembers(node.members, way);
    } else ts.forEachChild(node, (child) => visit(child, way));
  };
  const visitMembers = (members: readonly ts.Node[], way: Way): void => {
    for (const member of members) {
      if (ts.isConstructorDeclaration(member)) continue;
      const isCall =
        ts.isMethodDeclaration(member) || ts.isMethodSignature(member) || ts.isCallSignatureDeclaration(member);
      const type = ts.isPropertySignature(member) || ts.isPropertyDeclaration(member) ? member.type : undefined;
      if (isCall || (type !== undefined && isFunction(type))) visit(type ?? member, way);
      else if (way === "given") ts.forEachChild(member, (child) => visit(child, way));
    }
  };
  const visit = (node: ts.Node, way: Way): void => {
    if (ts.isFunctionLike(node)) {
      // Who gets a function gives what it takes; who gives one gets that.
      for (const { type } of node.parameters) if (type !== undefined) visit(type, way === "got" ? "given" : "got");
      for (const { constraint } of node.typeParameters ?? []) if (constraint !== undefined) visit(constraint, "given");
      if (node.type !== undefined) visit(node.type, way);
    } else if (ts.isTypeLiteralNode(node)) visitMembers(node.members, way);
    else {
      const reference = referenceOf(node);
      const symbol = reference && checker.getSymbolAtLocation(reference);
      if (symbol !== undefined) {
        named.add(meant(symbol));
        follow(meant(symbol), way);
      }
      ts.forEachChild(node, (child) => visit(child, way));
    }
  };
  for (const { symbol } of values)
    for (const declaration of symbol.declarations ?? []) {
      // What an error has to say is read from its properties.
      if (ts.isClassDeclaration(declaration)) {
        for (const member of declaration.members) if (ts.isPropertyDeclaration(member)) visit(member, "got");
      }
      follow(symbol, "got");
      if (ts.isFunctionDeclaration(declaration)) visit(declaration, "got");
    }
  return {
    values: values.map(({ name }) => name),
    types: exported.filter(({ name, symbol }) => !isValue(name, symbol)).map(({ name }) => name),
    named: new Set(exported.filter(({ symbol }) => named.has(symbol)).map(({ name }) => name)),
  };
}

const isFunction = (node: ts.TypeNode): boolean =>
  ts.isFunctionTypeNode(node) || (ts.isParenthesizedTypeNode(node) && isFunction(node.type));

function referenceOf(node: ts.Node): ts.Node | undefined {
  if (ts.isTypeReferenceNode(node)) return node.typeName;
  if (ts.isExpressionWithTypeArguments(node)) return node.expression;
  return ts.isImportTypeNode(node) ? node.qualifier : undefined;
}

/** Whether a module exports a name by `export type`. */
function typeOnly(source: ts.SourceFile, name: string): boolean {
  return source.statements.some(
    (statement) =>
      ts.isExportDeclaration(statement) &&
      statement.exportClause !== undefined &&
      ts.isNamedExports(statement.exportClause) &&
      statement.exportClause.elements.some(
        (element) => element.name.text === name && (statement.isTypeOnly || element.isTypeOnly),
      ),
  );
}
