import { basename } from "node:path";
import { membersOf, parseObject } from "@reins/acp";
import { searchItems } from "@reins/bridge";
import type { DecisionEvents, Fact, InjectedContext, ProjectSummary } from "../control/events.ts";
import { isGuide, readGuides, readNested, readOwn } from "../files/guides.ts";
import { MAX_NAMES, type MayRead, ReadableFolder } from "../files/workspace-files.ts";

const MAX_BYTES = 64 * 1024;

/** Manifest, language, and the pattern of the project's name. The first that exists names the project. */
const MANIFESTS: readonly (readonly [file: string, language: string, name?: RegExp])[] = [
  ["package.json", "JavaScript or TypeScript"],
  ["Cargo.toml", "Rust", /^name\s*=\s*"([^"\n]*)"/m],
  ["pyproject.toml", "Python", /^name\s*=\s*"([^"\n]*)"/m],
  ["go.mod", "Go", /^module\s+(\S+)/m],
  ["pom.xml", "Java", /<artifactId>([^<]+)</],
  ["build.gradle", "Java or Kotlin"],
  ["build.gradle.kts", "Kotlin"],
  ["Gemfile", "Ruby"],
  ["composer.json", "PHP"],
  ["mix.exs", "Elixir", /app:\s*:(\w+)/],
  ["CMakeLists.txt", "C or C++", /project\s*\(\s*([\w-]+)/i],
  ["Makefile", ""],
];

/** Describes a workspace by instructions and guides, manifests and git state, within the limits. `own` is the person's file. */
export async function perceive(
  { target, context, constraints }: DecisionEvents["context_perception"]["payload"],
  mayRead: MayRead = () => true,
  own?: string,
): Promise<InjectedContext> {
  const folder = new ReadableFolder(context.workspace, mayRead);
  const names = await folder.list(".");
  const path = "location" in target ? target.location.path : ".";
  const [guides, manifests, state, git] = await Promise.all([
    Promise.all([
      own === undefined ? [] : readOwn(own, mayRead),
      readNested(folder, context.workspace, path),
      readGuides(folder, names),
    ]),
    Promise.all(MANIFESTS.filter(([file]) => names.includes(file)).map((one) => readManifest(folder, one))),
    pathState(folder, path),
    mayHaveGit(names) ? gitState(folder) : [],
  ]);
  let items = constraints?.max_results ?? 12;
  let characters = constraints?.max_context_length ?? 8_000;
  const fits = ({ length }: string) => {
    if (items < 1 || length > characters) return false;
    items -= 1;
    characters -= length;
    return true;
  };
  const file_contents = guides.flat().filter(({ snippet }) => fits(snippet));
  const facts = [...state, ...manifests.flatMap((manifest) => manifest.facts), ...git];
  const query = `${context.query ?? ""}\n${context.current_task ?? ""}`;
  const relevant = searchItems(facts, ({ content }) => content, query);
  return {
    facts: [...new Set([...relevant, ...facts])].filter(({ content }) => fits(content)),
    file_contents,
    project_summary: summary(context.workspace, names, manifests),
  };
}

async function readManifest(folder: ReadableFolder, [file, language, pattern]: (typeof MANIFESTS)[number]) {
  const text = (await folder.read(file, MAX_BYTES)) ?? "";
  const json = file.endsWith(".json") ? parseObject(text) : {};
  const name = json.name ?? pattern?.exec(text)?.[1];
  const description = json.description ?? /^description\s*=\s*"([^"\n]*)"/m.exec(text)?.[1];
  const scripts = Object.keys(membersOf(json.scripts)).slice(0, 20);
  const rules = file === "Makefile" ? text.matchAll(/^([A-Za-z][\w-]*)\s*:(?!=)/gm) : [];
  const targets = [...new Set([...rules].map(([, target]) => target))].slice(0, 20);
  const contents = [
    typeof description === "string" && description !== "" && `The project: ${description}`,
    scripts.length > 0 && `Scripts of ${file}: ${scripts.join(", ")}`,
    json.workspaces !== undefined && "The project has several packages (workspaces)",
    targets.length > 0 && `Targets of the Makefile: ${targets.join(", ")}`,
  ];
  const facts = contents.flatMap((content) => (content === false ? [] : [fact(content.slice(0, 400), file)]));
  return { file, language, name: typeof name === "string" ? name.trim() : "", facts };
}

/** Whether a folder may be a git repository, by its names; they are incomplete where it has many, or may not be listed. */
function mayHaveGit(names: readonly string[]): boolean {
  return names.length === 0 || names.length >= MAX_NAMES || names.some((name) => GIT.test(name));
}

const GIT = /^\.git\/?$/;

/** Reads git's files instead of running git: a repository's configuration can make git run anything. */
async function gitState(folder: ReadableFolder): Promise<readonly Fact[]> {
  const head = await folder.read(".git/HEAD", MAX_BYTES);
  if (head === undefined) return [];
  const branch = /^ref: refs\/heads\/(.+)$/m.exec(head)?.[1]?.trim();
  const position = branch === undefined ? `detached at ${head.trim().slice(0, 12)}` : `on branch ${branch}`;
  const log = (await folder.read(".git/logs/HEAD", MAX_BYTES)) ?? "";
  // The last line of a log that was cut is not the last event.
  const last = Buffer.byteLength(log) < MAX_BYTES ? log.trimEnd().split("\n").at(-1) : undefined;
  const message = last?.split("\t")[1]?.slice(0, 200);
  const state = fact(`The workspace is a git repository, ${position}`, ".git");
  return message ? [state, fact(`Last in git: ${message}`, ".git")] : [state];
}

/** States whether the path that the prompt names exists. */
async function pathState(folder: ReadableFolder, path: string): Promise<readonly Fact[]> {
  if (path === ".") return [];
  const names = await folder.list(path);
  const list = names.slice(0, 30).join(", ");
  if (names.length > 0) return [fact(`${path} is a folder with ${names.length} entries: ${list}`, path, 1)];
  const isFile = (await folder.read(path, 1)) !== undefined;
  return isFile ? [fact(`${path} is a text file of the workspace`, path, 1)] : [];
}

type Manifest = Awaited<ReturnType<typeof readManifest>>;

function summary(path: string, names: readonly string[], manifests: readonly Manifest[]): ProjectSummary {
  const visible = names.filter((name) => !name.startsWith("."));
  const folders = visible.filter((name) => name.endsWith("/"));
  const files = visible.filter((name) => !name.endsWith("/"));
  const guides = files.filter(isGuide);
  const languages = new Set(manifests.map(({ language }) => language).filter((language) => language !== ""));
  const list = `${folders.slice(0, 15).join(" ")}${folders.length > 15 ? " and more" : ""}`;
  const structure = `${folders.length} folders${list === "" ? "" : ` (${list})`} and ${files.length} files`;
  return {
    project_name: manifests.find(({ name }) => name !== "")?.name ?? basename(path),
    ...(languages.size > 0 && { language: [...languages].join(", ") }),
    key_files: [...manifests.map(({ file }) => file), ...guides],
    structure_description: names.length === 0 ? "an empty folder" : structure,
  };
}

function fact(content: string, source: string, confidence = 0.9): Fact {
  return { content, source, confidence };
}
