import { join } from "node:path";
import ts from "typescript";

/** Packages whose declarations a stranger has whatever he installs: that they are sound is not ours to check, and takes longest. */
const others = /\/node_modules\/(@types\/node|undici-types)\//;

/**
 * Compiles a project as `tsc -p` does, in this process, and writes its JavaScript. Checks the project's files and the declarations of
 * every package that they reach, but not those of the compiler's own libraries and Node.
 *
 * @returns What the compiler says, as it prints it: "" where there is nothing to say.
 */
export function compileProject(folder: string): string {
  const config = ts.getParsedCommandLineOfConfigFile(
    join(folder, "tsconfig.json"),
    {},
    {
      ...ts.sys,
      onUnRecoverableConfigFileDiagnostic(diagnostic) {
        throw new Error(print([diagnostic]));
      },
    },
  );
  if (config === undefined) throw new Error(`${folder} has no tsconfig.json`);
  const program = ts.createProgram(config.fileNames, config.options);
  const checked = program
    .getSourceFiles()
    .filter((file) => !program.isSourceFileDefaultLibrary(file) && !others.test(file.fileName));
  const { diagnostics } = program.emit();
  return print([
    ...config.errors,
    ...program.getOptionsDiagnostics(),
    ...program.getGlobalDiagnostics(),
    ...checked.flatMap((file) => [...program.getSyntacticDiagnostics(file), ...program.getSemanticDiagnostics(file)]),
    ...diagnostics,
  ]);
}

const print = (diagnostics: readonly ts.Diagnostic[]): string =>
  ts.formatDiagnostics(diagnostics, {
    getCanonicalFileName: (name) => name,
    getCurrentDirectory: () => ts.sys.getCurrentDirectory(),
    getNewLine: () => "\n",
  });
