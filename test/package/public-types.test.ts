import { join, resolve } from "node:path";
import ts from "typescript";
import { expect, test } from "vitest";
import { entrySources } from "../support/package/entries.ts";

const root = resolve(import.meta.dirname, "../..");

test("every type of a public signature can be imported from an entry of the package", () => {
  const program = ts.createProgram([...entrySources], compilerOptions());
  const checker = program.getTypeChecker();
  const meant = (symbol: ts.Symbol): ts.Symbol =>
    symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
  const isOurs = (node: ts.Node): boolean => node.getSourceFile().fileName.startsWith(join(root, "src"));
  const exported = new Map<ts.Symbol, string>();
  for (const source of program.getSourceFiles().filter(({ fileName }) => entrySources.has(fileName)))
    for (const symbol of checker.getExportsOfModule(symbolOf(checker, source)))
      exported.set(meant(symbol), symbol.name);
  const missing: string[] = [];
  for (const [symbol, name] of exported)
    for (const declaration of symbol.declarations?.filter(isOurs) ?? [])
      for (const reference of signatureReferences(declaration)) {
        const found = checker.getSymbolAtLocation(reference);
        const used = found && meant(found);
        const [at] = used?.declarations ?? [];
        if (used === undefined || at === undefined || !isOurs(at) || ts.isTypeParameterDeclaration(at)) continue;
        if (!exported.has(used)) missing.push(`${used.name}, of ${name}`);
      }
  expect(exported.size).toBeGreaterThan(100);
  expect([...new Set(missing)].toSorted().join("\n")).toBe("");
});

function compilerOptions(): ts.CompilerOptions {
  const host: ts.ParseConfigFileHost = { ...ts.sys, onUnRecoverableConfigFileDiagnostic: () => undefined };
  return ts.getParsedCommandLineOfConfigFile(join(root, "tsconfig.json"), {}, host)?.options ?? {};
}

function symbolOf(checker: ts.TypeChecker, source: ts.SourceFile): ts.Symbol {
  const symbol = checker.getSymbolAtLocation(source);
  if (symbol === undefined) throw new Error(`${source.fileName} exports nothing`);
  return symbol;
}

/** The names of types that a reader of a declaration sees: no bodies, no constructors, nothing private or internal. */
function signatureReferences(declaration: ts.Node): readonly ts.Node[] {
  const found: ts.Node[] = [];
  const isHidden = (node: ts.Node): boolean =>
    ts.isBlock(node) ||
    ts.isConstructorDeclaration(node) ||
    ts.getJSDocTags(node).some(({ tagName }) => tagName.text === "internal") ||
    (ts.isClassElement(node) && node.name !== undefined && ts.isPrivateIdentifier(node.name)) ||
    (ts.isVariableDeclaration(node) && node.type === undefined && !isFunction(node.initializer));
  const visit = (node: ts.Node): void => {
    if (isHidden(node)) return;
    if (ts.isTypeReferenceNode(node)) found.push(node.typeName);
    if (ts.isExpressionWithTypeArguments(node)) found.push(node.expression);
    if (ts.isFunctionLike(node)) {
      for (const part of [...(node.typeParameters ?? []), ...node.parameters, node.type]) if (part) visit(part);
    } else if (isTyped(node)) {
      const shown = node.type ?? (isFunction(node.initializer) ? node.initializer : undefined);
      if (shown) visit(shown);
    } else ts.forEachChild(node, visit);
  };
  if (ts.isFunctionLike(declaration) || isTyped(declaration)) visit(declaration);
  else ts.forEachChild(declaration, visit);
  return found;
}

const isTyped = (node: ts.Node): node is ts.PropertyDeclaration | ts.ParameterDeclaration | ts.VariableDeclaration =>
  ts.isPropertyDeclaration(node) || ts.isParameter(node) || ts.isVariableDeclaration(node);

const isFunction = (node: ts.Node | undefined): node is ts.ArrowFunction =>
  node !== undefined && ts.isArrowFunction(node);
