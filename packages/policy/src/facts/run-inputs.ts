import { basename, dirname, isAbsolute, join, resolve } from "node:path";
import type { Action } from "../action.ts";
import { type FilePort, realFiles } from "./files.ts";

/** Files by which build tools, package managers, test runners and hooks decide what to run. */
const MANIFESTS: ReadonlySet<string> = new Set(
  `package.json package-lock.json npm-shrinkwrap.json pnpm-lock.yaml pnpm-workspace.yaml .pnpmfile.cjs yarn.lock
   .yarnrc .yarnrc.yml .npmrc bun.lock bun.lockb bunfig.toml deno.json deno.jsonc lerna.json nx.json turbo.json
   Makefile makefile GNUmakefile justfile Justfile .justfile Taskfile.yml Taskfile.yaml CMakeLists.txt
   CMakePresets.json build.ninja meson.build configure SConstruct wscript
   Cargo.toml Cargo.lock build.rs rust-toolchain rust-toolchain.toml go.mod go.sum go.work
   pyproject.toml setup.py setup.cfg tox.ini noxfile.py conftest.py pytest.ini requirements.txt Pipfile Pipfile.lock
   poetry.lock uv.lock tasks.py manage.py
   Dockerfile Containerfile docker-compose.yml docker-compose.yaml compose.yml compose.yaml .dockerignore .env
   build.gradle build.gradle.kts settings.gradle settings.gradle.kts gradle.properties gradlew pom.xml mvnw build.sbt
   Gemfile Gemfile.lock Rakefile composer.json composer.lock mix.exs Package.swift Podfile
   BUILD BUILD.bazel WORKSPACE MODULE.bazel .bazelrc Vagrantfile Procfile Jenkinsfile
   tsconfig.json babel.config.js .babelrc webpack.config.js rollup.config.js lefthook.yml .pre-commit-config.yaml`.split(
    /\s+/,
  ),
);
/** The same where the name has a part of its own. */
const MANIFEST_FORM =
  /\.(?:mk|csproj|fsproj|sln|props|targets|gemspec|cabal|tf)$|^(?:vite|vitest|jest|eslint|playwright|karma|ava|mocha)\.config\.\w+$|^\.(?:mocharc|eslintrc|lintstagedrc)/;
/** Below a folder: what git, Cargo and hooks run from there. */
const NESTED = [
  ".git/config",
  ".git/hooks",
  ".husky",
  ".cargo/config.toml",
  ".mvn",
  "gradle/wrapper",
] as const;
/** Programs that send whole folders. */
const SENDERS: ReadonlySet<string> = new Set(["scp", "rsync", "sftp", "rclone", "aws", "gsutil", "gcloud"]);

const MAX_FOLDERS = 12;
const MAX_LEVELS = 8;
const MAX_TOKENS = 512;
const MAX_TEXT = 64 * 1024;
const MAX_LIST = 1_000;
const MAX_INPUTS = 256;
const APART = /[\s"'`;&|<>(){}=,@:]+/;

/** What an action runs or sends beyond its own words. */
export interface RunInputs {
  /** Files that are named, or that a build tool reads to decide what to run; absolute, in order. */
  readonly files: readonly string[];
  /** Folders that are sent with what is below them. */
  readonly folders: readonly string[];
}

/**
 * The files on whose content it depends what an action does: scripts and files that its words name, and the manifests
 * around where it runs. Empty for what runs nothing hidden and sends nothing, because its effects say all.
 */
export async function runInputs(
  action: Action,
  cwd: string,
  files: FilePort = realFiles,
): Promise<RunInputs> {
  const execs = action.effects.flatMap((effect) => (effect.kind === "exec" ? [effect] : []));
  const isHidden = action.opaque || execs.some(({ opaque }) => opaque);
  const sends = action.effects.some(({ kind }) => kind === "net");
  if (!isHidden && !sends) return { files: [], folders: [] };
  const words = execs.flatMap(({ command, arguments: given }) => [
    command,
    ...given.map((word) => word ?? ""),
  ]);
  const texts = [...words, ...textsIn(action.arguments)];
  const tokens = new Set(texts.flatMap((text) => [text, ...text.slice(0, MAX_TEXT).split(APART)]));
  const named = await namedBy([...tokens].filter(isPathLike).slice(0, MAX_TOKENS), cwd, files);
  const found = new Set(named.files);
  for (const effect of action.effects)
    if (
      effect.kind === "read" &&
      !effect.deep &&
      !effect.passing &&
      (await kindOf(effect.path, files)) === "file"
    )
      found.add(effect.path);
  if (isHidden) for (const folder of named.folders) await addManifests(folder, found, files);
  const sent = action.effects.flatMap((effect) =>
    effect.kind === "read" && effect.deep ? [effect.path] : [],
  );
  const isSender = execs.some(({ command }) => SENDERS.has(command));
  return { files: [...found].sort().slice(0, MAX_INPUTS), folders: isSender ? sent.sort() : [] };
}

/** Whether a file is one by which tools decide what to run. */
export function isManifest(path: string): boolean {
  const name = basename(path);
  return MANIFESTS.has(name) || MANIFEST_FORM.test(name) || NESTED.some((part) => path.includes(`/${part}`));
}

/** The files that words name, and the folders: where it runs, and those that words name. */
async function namedBy(tokens: readonly string[], cwd: string, files: FilePort) {
  const folders = new Set([cwd]);
  for (const token of tokens) {
    const path = isAbsolute(token) ? resolve(token) : resolve(cwd, token);
    if (folders.size < MAX_FOLDERS && (await kindOf(path, files)) === "folder") folders.add(path);
  }
  const named = new Set<string>();
  for (const folder of folders)
    for (const token of tokens) {
      const path = isAbsolute(token) ? resolve(token) : resolve(folder, token);
      if (!named.has(path) && (await kindOf(path, files)) === "file") named.add(path);
    }
  return { files: named, folders };
}

/** The manifests of a folder and of those above it, up to the repository's own. */
async function addManifests(start: string, found: Set<string>, files: FilePort): Promise<void> {
  let folder = start;
  for (let level = 0; level < MAX_LEVELS; level += 1) {
    const names = (await orNothing(files.list(folder, MAX_LIST))) ?? [...MANIFESTS].map((name) => ({ name }));
    for (const { name } of names)
      if (MANIFESTS.has(name) || MANIFEST_FORM.test(name)) await addFile(join(folder, name), found, files);
    for (const part of NESTED) await addBelow(join(folder, part), found, files);
    const above = dirname(folder);
    if (above === folder || names.some(({ name }) => name === ".git")) return;
    folder = above;
  }
}

async function addBelow(path: string, found: Set<string>, files: FilePort): Promise<void> {
  if ((await kindOf(path, files)) !== "folder") return addFile(path, found, files);
  const inside = (await orNothing(files.list(path, MAX_LIST))) ?? [];
  for (const { name } of inside.filter((entry) => !entry.name.endsWith(".sample")))
    await addFile(join(path, name), found, files);
}

async function addFile(path: string, found: Set<string>, files: FilePort): Promise<void> {
  if ((await kindOf(path, files)) === "file") found.add(path);
}

/** What a path leads to, links followed. */
async function kindOf(path: string, files: FilePort): Promise<"file" | "folder" | undefined> {
  const real = await orNothing(files.realpath(path));
  const kind = real === undefined ? undefined : await orNothing(files.lstat(real));
  return kind === "file" || kind === "folder" ? kind : undefined;
}

async function orNothing<Found>(finding: Promise<Found | undefined>): Promise<Found | undefined> {
  try {
    return await finding;
  } catch {
    // No permission, a loop, a name too long: what cannot be read is not distinguished.
    return undefined;
  }
}

function isPathLike(token: string): boolean {
  return token !== "" && token.length <= 4_096 && !token.includes("\0") && !/^-+$/.test(token);
}

function textsIn(value: unknown, depth = 0): string[] {
  if (typeof value === "string") return [value];
  if (typeof value !== "object" || value === null || depth > 4) return [];
  return Object.values(value).flatMap((member) => textsIn(member, depth + 1));
}
