import { mkdir, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { openHome } from "../../home.ts";
import { noticeOnStderr, print } from "../../output.ts";
import { openEnvironmentFile } from "./environment-file.ts";
import { keeperFor, type Machine, type ServiceFlags, thisMachine } from "./keeper.ts";

/** The flags of `reins service install` as they were written. */
export interface InstallFlags extends ServiceFlags {
  readonly print?: boolean;
}

/** Has `reins up` kept running for this user. */
export async function install(flags: InstallFlags, machine: Machine = thisMachine()): Promise<void> {
  const { keeper, plan } = keeperFor(flags, machine);
  if (flags.print) return print(keeper.text);
  await keeper.require();
  await openHome(plan.home, noticeOnStderr(flags.json));
  const { othersMayRead } = await openEnvironmentFile(plan.environmentFile);
  if (othersMayRead)
    noticeOnStderr(flags.json)(
      `Others may read ${plan.environmentFile}; run: chmod 600 ${plan.environmentFile}`,
    );
  await mkdir(dirname(keeper.file), { recursive: true });
  await writeFile(keeper.file, keeper.text, { mode: 0o600 });
  await keeper.start();
  const { file, name, logs, advice } = keeper;
  print(
    flags.json
      ? `${JSON.stringify({ keeper: name, file, environment_file: plan.environmentFile, logs })}\n`
      : `${name} keeps Reins running now, by ${file}\n  keys go into: ${plan.environmentFile}\n  what it says:  ${logs}\n  ${advice}\n`,
  );
}
