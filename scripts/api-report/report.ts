import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type ESTree, parseSync } from "vite";

/** One exported name: what it is, as its source declares it, without implementation and comments. */
export interface PublicName {
  name: string;
  declaration: string;
}

/** The names that a module exports, in alphabetical order. Re-exports are followed to the file that declares them. */
export async function publicNames(module: string): Promise<PublicName[]> {
  const { text, program } = await parsed(module);
  const found: PublicName[] = [];
  for (const statement of program.body) {
    if (statement.type !== "ExportNamedDeclaration") continue;
    if (statement.declaration) {
      const names = declaredNames(statement.declaration);
      for (const name of names) found.push({ name, declaration: signature(statement.declaration, text) });
    }
    for (const { local, exported } of statement.specifiers) {
      if (local.type !== "Identifier" || exported.type !== "Identifier") continue;
      const declaration = await declarationIn(module, statement.source?.value ?? "", local.name);
      found.push({ name: exported.name, declaration });
    }
  }
  return found.toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

/** The report of a package: its public names by entry point. */
export async function apiReport(name: string, entryPoints: ReadonlyMap<string, string>): Promise<string> {
  const sections: string[] = [];
  let count = 0;
  for (const [entryPoint, module] of entryPoints) {
    const names = await publicNames(module);
    count += names.length;
    const declarations = names.map(({ declaration }) => declaration).join("\n\n");
    sections.push(`## ${entryPoint}: ${names.length}\n\n\`\`\`ts\n${declarations}\n\`\`\`\n`);
  }
  return `# Public names of ${name}: ${count}\n\nWritten by \`npm run schemas\`.\n\n${sections.join("\n")}`;
}

async function declarationIn(module: string, source: string, name: string): Promise<string> {
  if (!source.startsWith(".")) return `export { ${name} } from "${source}";`;
  const found = (await publicNames(join(dirname(module), source))).find((one) => one.name === name);
  if (found === undefined) throw new Error(`${module}: ${source} declares no ${name}.`);
  return found.declaration;
}

async function parsed(module: string): Promise<{ text: string; program: ESTree.Program }> {
  const text = await readFile(module, "utf8");
  const { program, errors } = parseSync(module, text);
  if (errors[0]) throw new Error(`${module}: ${errors[0].message}`);
  return { text, program };
}

function declaredNames(declaration: ESTree.Declaration): string[] {
  if (declaration.type === "VariableDeclaration")
    return declaration.declarations.flatMap(({ id }) => (id.type === "Identifier" ? [id.name] : []));
  return "id" in declaration && declaration.id?.type === "Identifier" ? [declaration.id.name] : [];
}

/** The text of a declaration with bodies and private members cut out. */
function signature(declaration: ESTree.Declaration, text: string): string {
  const cuts: [number, number][] = [];
  if (declaration.type === "FunctionDeclaration" && declaration.body)
    cuts.push([declaration.body.start, declaration.body.end]);
  if (declaration.type === "ClassDeclaration") {
    for (const member of declaration.body.body) {
      if (isPrivate(member)) cuts.push([member.start, member.end]);
      else if (member.type === "MethodDefinition" && member.value.body)
        cuts.push([member.value.body.start, member.value.body.end]);
    }
  }
  let kept = "";
  let from = declaration.start;
  for (const [start, end] of cuts) {
    kept += text.slice(from, start).trimEnd() + (text[start] === "{" ? ";" : "");
    from = end;
  }
  return withoutComments(kept + text.slice(from, declaration.end));
}

function isPrivate(member: ESTree.ClassElement): boolean {
  if (member.type === "StaticBlock") return true;
  if ("key" in member && member.key.type === "PrivateIdentifier") return true;
  return "accessibility" in member && member.accessibility === "private";
}

function withoutComments(text: string): string {
  return text
    .replaceAll(/\/\*\*[\s\S]*?\*\//g, "")
    .replaceAll(/^\s*\/\/.*$/gm, "")
    .replaceAll(/^;$/gm, "")
    .replaceAll(/\n\s*\n+/g, "\n")
    .trim();
}
