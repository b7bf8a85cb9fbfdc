import type { Fact } from "../../events.ts";
import type {
  ContextPerceptionPayload,
  FileSnippet,
  InjectedContext,
  ProjectSummary,
} from "../../perception.ts";
import { gitState } from "./git-state.ts";
import { MANIFESTS } from "./manifests.ts";
import { type Candidate, fitting, rank } from "./ranking.ts";
import type { Workspace } from "./workspace.ts";

const DEFAULT_ITEMS = 12;
const DEFAULT_CHARACTERS = 8_000;
const MANIFEST_BYTES = 64 * 1024;

/** Files that say what a project is about, how much of each is shown, and how much it matters. */
const GUIDES: readonly { readonly file: RegExp; readonly characters: number; readonly weight: number }[] = [
  { file: /^agents\.md$/i, characters: 4_000, weight: 1 },
  { file: /^claude\.md$/i, characters: 3_000, weight: 0.9 },
  { file: /^readme(\.\w+)?$/i, characters: 2_000, weight: 0.8 },
  { file: /^contributing(\.\w+)?$/i, characters: 1_500, weight: 0.5 },
  { file: /^architecture(\.\w+)?$/i, characters: 1_500, weight: 0.5 },
];

type Item = Candidate & ({ readonly fact: Fact } | { readonly file: Omit<FileSnippet, "relevance_score"> });

/**
 * What can be told of a workspace from the outside: what kind of project it is, what its own guides say, and where git
 * stands; ranked by what is asked, and no more than was asked for.
 */
export async function perceive(
  { target, context, constraints }: ContextPerceptionPayload,
  workspace: Workspace,
): Promise<InjectedContext> {
  const names = await workspace.list(".");
  const [manifests, guides, git, about] = await Promise.all([
    readManifests(names, workspace),
    readGuides(names, workspace),
    gitState(workspace),
    aboutTarget(target, workspace),
  ]);
  const facts = [...about, ...manifests.facts, ...git].map(asItem);
  const query = [context.query, context.current_task].filter((text) => text !== undefined).join("\n");
  const chosen = fitting(rank([...facts, ...guides], query), {
    items: constraints?.max_results ?? DEFAULT_ITEMS,
    characters: constraints?.max_context_length ?? DEFAULT_CHARACTERS,
  });
  return {
    facts: chosen.flatMap((item) => ("fact" in item ? [item.fact] : [])),
    file_contents: chosen.flatMap((item) =>
      "file" in item ? [{ ...item.file, relevance_score: item.relevance }] : [],
    ),
    project_summary: summaryOf(context.workspace, names, manifests),
  };
}

interface Manifests {
  readonly name: string | undefined;
  readonly languages: readonly string[];
  readonly files: readonly string[];
  readonly facts: readonly Fact[];
}

async function readManifests(names: readonly string[], workspace: Workspace): Promise<Manifests> {
  const present = MANIFESTS.filter(({ file }) => names.includes(file));
  const read = await Promise.all(
    present.map(async (manifest) => {
      const text = (await workspace.read(manifest.file, MANIFEST_BYTES)) ?? "";
      return { ...manifest, ...manifest.read(text, manifest.file) };
    }),
  );
  return {
    name: read.find(({ name }) => name !== undefined)?.name,
    languages: read.map(({ language }) => language).filter((language) => language !== ""),
    files: present.map(({ file }) => file),
    facts: read.flatMap(({ facts }) => facts),
  };
}

async function readGuides(names: readonly string[], workspace: Workspace): Promise<readonly Item[]> {
  const found = GUIDES.flatMap((guide) => {
    const path = names.find((name) => guide.file.test(name));
    return path === undefined ? [] : [{ ...guide, path }];
  });
  const items = await Promise.all(
    found.map(async ({ path, characters, weight }): Promise<Item[]> => {
      const text = (await workspace.read(path, characters * 4))?.trim() ?? "";
      if (text === "") return [];
      const snippet = text.length > characters ? `${text.slice(0, characters)}\n…` : text;
      return [{ key: path, text: snippet, weight, file: { path, snippet } }];
    }),
  );
  return items.flat();
}

/** Whether what the prompt points at is there. */
async function aboutTarget(
  target: ContextPerceptionPayload["target"],
  workspace: Workspace,
): Promise<readonly Fact[]> {
  const path = pathOf(target);
  if (path === undefined || path === ".") return [];
  const names = await workspace.list(path);
  if (names.length > 0) {
    const some = names.slice(0, 30).join(", ");
    return [
      { content: `${path} is a folder with ${names.length} entries: ${some}`, source: path, confidence: 1 },
    ];
  }
  const isThere = (await workspace.read(path, 1)) !== undefined;
  return isThere ? [{ content: `${path} is a text file of the workspace`, source: path, confidence: 1 }] : [];
}

function pathOf(target: ContextPerceptionPayload["target"]): string | undefined {
  return "location" in target ? target.location.path : undefined;
}

function asItem(fact: Fact): Item {
  return { key: `fact:${fact.content}`, text: fact.content, weight: 0.6 * fact.confidence, fact };
}

function summaryOf(
  workspace: string,
  names: readonly string[],
  { name, languages, files }: Manifests,
): ProjectSummary {
  const folders = names.filter((entry) => entry.endsWith("/") && !entry.startsWith("."));
  const plain = names.filter((entry) => !entry.endsWith("/") && !entry.startsWith("."));
  const guides = plain.filter((entry) => GUIDES.some(({ file }) => file.test(entry)));
  const more = folders.length > 15 ? " and more" : "";
  return {
    project_name: name ?? workspace.replace(/\/+$/, "").split("/").at(-1) ?? workspace,
    ...(languages.length > 0 && { language: [...new Set(languages)].join(", ") }),
    key_files: [...files, ...guides],
    structure_description:
      names.length === 0
        ? "an empty folder"
        : `${folders.length} folders${folders.length > 0 ? ` (${folders.slice(0, 15).join(" ")}${more})` : ""} and ${plain.length} files`,
  };
}
