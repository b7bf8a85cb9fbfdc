import type { WorkspacePackage } from "./order.ts";

/** Where the generated TypeScript configurations lie, two folders below the root. */
export const CONFIGURATION_FOLDER = ".cache/build";

/**
 * The TypeScript configuration that builds one package. Imports of our other packages are led to what was built of
 * them, because tsc would otherwise take their sources for part of this package.
 */
export function buildConfiguration(one: WorkspacePackage, built: readonly WorkspacePackage[]): object {
  const folder = `../../${one.folder}`;
  return {
    extends: "../../tsconfig.json",
    compilerOptions: {
      noEmit: false,
      incremental: false,
      tsBuildInfoFile: null,
      allowJs: false,
      checkJs: false,
      declaration: true,
      rootDir: folder,
      outDir: `${folder}/dist`,
      typeRoots: ["../../node_modules/@types"],
      paths: Object.fromEntries(built.flatMap(declarationPaths)),
    },
    include: [`${folder}/src/**/*.ts`],
    exclude: [`${folder}/src/**/*.test.ts`, `${folder}/src/**/testing/**`],
  };
}

function declarationPaths({ folder, manifest }: WorkspacePackage): [string, string[]][] {
  return Object.entries(manifest.exports ?? {})
    .filter(([, target]) => target.endsWith(".ts"))
    .map(([subpath, target]) => [
      manifest.name + subpath.slice(1),
      [`../../${folder}/dist/${target.slice(2).replace(/\.ts$/, ".d.ts")}`],
    ]);
}
