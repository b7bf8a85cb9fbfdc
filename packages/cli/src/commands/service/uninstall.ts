import { existsSync } from "node:fs";
import { rm } from "node:fs/promises";
import { CliError, EXIT } from "../../errors.ts";
import { print } from "../../output.ts";
import { keeperFor, type Machine, type ServiceFlags, thisMachine } from "./keeper.ts";

/** Ends the service and takes its file away. The home stays. */
export async function uninstall(flags: ServiceFlags, machine: Machine = thisMachine()): Promise<void> {
  const { keeper, plan } = keeperFor(flags, machine);
  if (!existsSync(keeper.file))
    throw new CliError(`There is no service ${plan.name}: ${keeper.file} is not there.`, {
      next: "Was it installed under another name? Say so with --name.",
      exitCode: EXIT.failed,
    });
  await keeper.require();
  await keeper.stop();
  await rm(keeper.file);
  await keeper.forget();
  print(
    flags.json
      ? `${JSON.stringify({ keeper: keeper.name, file: keeper.file, removed: true })}\n`
      : `${keeper.name} keeps Reins running no more; ${plan.home} stays as it is\n`,
  );
}
