import { parseSync, Visitor } from "vite";

/** The specifiers a module names, type-only ones included, and whether it re-exports everything of another. */
export interface ModuleImports {
  specifiers: string[];
  exportsAll: boolean;
}

/** Reads a module's imports from its syntax tree, so that a string or a comment is never taken for one. */
export function importsOf(path: string, text: string): ModuleImports {
  const { program, errors } = parseSync(path, text);
  const [problem] = errors;
  if (problem) throw new Error(`${path}: ${problem.message}`);
  const specifiers: string[] = [];
  let exportsAll = false;
  new Visitor({
    ImportDeclaration: (node) => specifiers.push(node.source.value),
    ExportNamedDeclaration: (node) => node.source && specifiers.push(node.source.value),
    ExportAllDeclaration: (node) => {
      specifiers.push(node.source.value);
      exportsAll = true;
    },
    ImportExpression: ({ source }) => {
      if (source.type === "Literal" && typeof source.value === "string") specifiers.push(source.value);
    },
    TSImportType: (node) => specifiers.push(node.source.value),
  }).visit(program);
  return { specifiers, exportsAll };
}
