/** What a command checks, by how it is called. */
const CHECKS: readonly (readonly [subject: string, RegExp])[] = [
  ["tests", /\b(?:npm|pnpm|yarn|bun) (?:run )?test\b|\b(?:pytest|vitest|jest|mocha|tox|rspec|phpunit)\b/],
  ["tests", /\b(?:cargo|go|dotnet|mvn|gradle|swift|mix|deno|make) (?:\S+ )?(?:test|check)\b/],
  ["types", /\b(?:tsc|mypy|pyright|flow check)\b/],
  ["lint", /\b(?:eslint|biome|ruff|clippy|golangci-lint|shellcheck|rubocop|flake8)\b/],
  ["lint", /\b(?:npm|pnpm|yarn) (?:run )?(?:lint|check|format)\b/],
  [
    "build",
    /\b(?:npm|pnpm|yarn) run build\b|\b(?:cargo|go|dotnet|gradle|swift) build\b|\bmake\b(?! (?:test|check))/,
  ],
];

/** What a command says about the work when it ends; `undefined` when it checks nothing. */
export function checkOf(command: string): string | undefined {
  return CHECKS.find(([, sign]) => sign.test(command))?.[0];
}
