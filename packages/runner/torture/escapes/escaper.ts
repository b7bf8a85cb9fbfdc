// Runs inside the sandbox and tries to get out of it. Says what became of each attempt, a line of JSON each.
import { CONFINED_ATTEMPTS } from "./confined-attempts.ts";
import { FREE_ATTEMPTS } from "./free-attempts.ts";
import type { Attempt } from "./targets.ts";
import { targets } from "./tools.ts";

const attempts = targets.confined ? { ...FREE_ATTEMPTS, ...CONFINED_ATTEMPTS } : FREE_ATTEMPTS;
for (const [name, attempt] of Object.entries(attempts)) {
  const outcome: Attempt = { name };
  try {
    const gained = await attempt();
    say(gained === undefined ? outcome : { ...outcome, gained });
  } catch (error) {
    const untried = error instanceof Error && "untried" in error ? String(error.untried) : undefined;
    say(untried === undefined ? outcome : { ...outcome, untried });
  }
}

function say(outcome: Attempt): void {
  process.stdout.write(`${JSON.stringify(outcome)}\n`);
}
