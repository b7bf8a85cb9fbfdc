import { z } from "zod";
import type { Fact } from "../../events.ts";

/** What a manifest tells of its project. */
interface ManifestFacts {
  readonly name?: string;
  readonly facts: readonly Fact[];
}

/** A file that says what a project is. */
export interface Manifest {
  readonly file: string;
  readonly language: string;
  readonly read: (text: string, file: string) => ManifestFacts;
}

const PackageJson = z.looseObject({
  name: z.string().optional().catch(undefined),
  description: z.string().optional().catch(undefined),
  scripts: z.record(z.string(), z.string()).optional().catch(undefined),
  workspaces: z.unknown().optional(),
});

/** In the order in which they name a project that has several. */
export const MANIFESTS: readonly Manifest[] = [
  { file: "package.json", language: "JavaScript or TypeScript", read: fromPackageJson },
  { file: "Cargo.toml", language: "Rust", read: fromAssignments },
  { file: "pyproject.toml", language: "Python", read: fromAssignments },
  {
    file: "go.mod",
    language: "Go",
    read: (text) => ({ ...named(/^module\s+(\S+)/m.exec(text)?.[1]), facts: [] }),
  },
  {
    file: "pom.xml",
    language: "Java",
    read: (text) => ({ ...named(/<artifactId>([^<]+)</.exec(text)?.[1]), facts: [] }),
  },
  { file: "build.gradle", language: "Java or Kotlin", read: () => ({ facts: [] }) },
  { file: "build.gradle.kts", language: "Kotlin", read: () => ({ facts: [] }) },
  { file: "Gemfile", language: "Ruby", read: () => ({ facts: [] }) },
  { file: "composer.json", language: "PHP", read: fromPackageJson },
  {
    file: "mix.exs",
    language: "Elixir",
    read: (text) => ({ ...named(/app:\s*:(\w+)/.exec(text)?.[1]), facts: [] }),
  },
  {
    file: "CMakeLists.txt",
    language: "C or C++",
    read: (text) => ({ ...named(/project\s*\(\s*([\w-]+)/i.exec(text)?.[1]), facts: [] }),
  },
  { file: "Makefile", language: "", read: fromMakefile },
];

function fromPackageJson(text: string, file: string): ManifestFacts {
  const { data } = PackageJson.safeParse(parsed(text));
  if (!data) return { facts: [] };
  const scripts = Object.keys(data.scripts ?? {}).slice(0, 20);
  return {
    ...named(data.name),
    facts: [
      ...(data.description ? [fact(`The project: ${data.description}`, file)] : []),
      ...(scripts.length > 0 ? [fact(`Scripts of ${file}: ${scripts.join(", ")}`, file)] : []),
      ...(data.workspaces === undefined ? [] : [fact("The project has several packages (workspaces)", file)]),
    ],
  };
}

function fromAssignments(text: string, file: string): ManifestFacts {
  const description = assigned("description", text);
  return {
    ...named(assigned("name", text)),
    facts: description === undefined ? [] : [fact(`The project: ${description}`, file)],
  };
}

function fromMakefile(text: string, file: string): ManifestFacts {
  const targets = [...text.matchAll(/^([A-Za-z][\w-]*)\s*:(?!=)/gm)].map(([, name]) => name);
  const some = [...new Set(targets)].slice(0, 20);
  return { facts: some.length > 0 ? [fact(`Targets of the Makefile: ${some.join(", ")}`, file)] : [] };
}

function assigned(key: string, text: string): string | undefined {
  return new RegExp(`^${key}\\s*=\\s*"([^"\\n]*)"`, "m").exec(text)?.[1];
}

function named(name: string | undefined): { readonly name?: string } {
  return name === undefined || name.trim() === "" ? {} : { name: name.trim() };
}

function fact(content: string, source: string): Fact {
  return { content: content.slice(0, 400), source, confidence: 0.9 };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
