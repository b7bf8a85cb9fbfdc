import { existsSync } from "node:fs";
import { EXIT } from "../../errors.ts";
import { operatorSocketIn } from "../../home.ts";
import { print } from "../../output.ts";
import { isServed } from "../../serving/socket.ts";
import { keeperFor, type Machine, type ServiceFlags, thisMachine } from "./keeper.ts";

/** Tells how the service stands; the exit code. */
export async function status(flags: ServiceFlags, machine: Machine = thisMachine()): Promise<number> {
  const { keeper, plan } = keeperFor(flags, machine);
  const answers = await isServed(operatorSocketIn(plan.home));
  const isInstalled = existsSync(keeper.file);
  const state = isInstalled ? await stateOf(keeper) : NOT_INSTALLED;
  const told = { keeper: keeper.name, file: keeper.file, ...state, installed: isInstalled, answers };
  print(flags.json ? `${JSON.stringify(told)}\n` : words(told, keeper.logs));
  return state.running && answers ? EXIT.done : EXIT.failed;
}

const NOT_INSTALLED = { enabled: false, running: false, pid: undefined } as const;

type Keeper = ReturnType<typeof keeperFor>["keeper"];

async function stateOf(keeper: Keeper): ReturnType<Keeper["state"]> {
  await keeper.require();
  return keeper.state();
}

interface Told {
  readonly file: string;
  readonly installed: boolean;
  readonly enabled: boolean;
  readonly running: boolean;
  readonly pid: number | undefined;
  readonly answers: boolean;
}

function words({ file, installed, enabled, running, pid, answers }: Told, logs: string): string {
  const heard = `Reins ${answers ? "answers" : "does not answer"} on its home\n`;
  if (!installed) return `not installed; to install it: reins service install\n${heard}`;
  const life = running ? `running${pid === undefined ? "" : `, as process ${pid}`}` : "not running";
  const login = enabled ? "starts at login" : "does not start at login";
  return `installed by ${file}; ${login}; ${life}\n${heard}what it says: ${logs}\n`;
}
