/**
 * What a command runs (a file of the repository, then its arguments), which install it needs, whether the page has to
 * be built for it, and whether it runs from a bundle. That is for what runs no code of others: who imports our packages
 * means those that are installed, and would meet classes that are not the same.
 * @typedef {{
 *   line: string[],
 *   needsDevelopmentPackages: boolean,
 *   needsPage?: boolean,
 *   needsBundle?: boolean,
 * }} Command
 */

/** @type {Map<string, Command>} */
const commands = new Map([
  [
    "start",
    {
      line: ["packages/cli/src/main.ts", "up"],
      needsDevelopmentPackages: false,
      needsPage: true,
      needsBundle: true,
    },
  ],
  ["reins", { line: ["packages/cli/src/main.ts"], needsDevelopmentPackages: false }],
  ["test", { line: ["scripts/test.ts"], needsDevelopmentPackages: true, needsPage: true }],
  ["check", { line: ["scripts/test.ts", "--checks"], needsDevelopmentPackages: true }],
  [
    "fix",
    { line: ["node_modules/@biomejs/biome/bin/biome", "check", "--write"], needsDevelopmentPackages: true },
  ],
  ["bench", { line: ["scripts/bench.ts"], needsDevelopmentPackages: true }],
  ["torture", { line: ["scripts/torture.ts"], needsDevelopmentPackages: true }],
  ["lockfile", { line: ["scripts/lockfile.ts"], needsDevelopmentPackages: true }],
  ["schemas", { line: ["scripts/schemas.ts"], needsDevelopmentPackages: true }],
  ["build", { line: ["scripts/build.ts"], needsDevelopmentPackages: true }],
]);

/** The names that `commandLine` knows. */
export const commandNames = [...commands.keys()];

/**
 * The command of that name with the caller's arguments at its end, or undefined when there is none.
 * @param {string} name
 * @param {string[]} args
 * @returns {Command | undefined}
 */
export function commandLine(name, args) {
  const command = commands.get(name);
  return command && { ...command, line: [...command.line, ...args] };
}
