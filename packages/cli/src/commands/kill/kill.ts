import { Operator } from "../../client/api-client.ts";
import { type OperatorFlags, settlePlace } from "../../client/connect.ts";
import { HttpCarrier } from "../../client/transport.ts";
import { EXIT, type ExitCode } from "../../errors.ts";
import { print } from "../../output.ts";
import { killHere, killOver } from "./carry-out.ts";
import { describeKill } from "./describe.ts";
import { type KillNames, targetOf } from "./target.ts";

/** The flags of `reins kill` as they were written. */
export interface KillFlags extends OperatorFlags, KillNames {
  readonly reason?: string;
}

/** Ends something and tells what became of it; the exit code. */
export async function kill(what: string | undefined, flags: KillFlags): Promise<ExitCode> {
  const target = targetOf(what, flags);
  const request = { ...target, ...(flags.reason !== undefined && { reason: flags.reason }) };
  const place = settlePlace(flags, process.env);
  const report = place.url
    ? await killOver(new Operator(new HttpCarrier(place)), request)
    : await killHere(place.home, request);
  print(flags.json ? `${JSON.stringify(report)}\n` : describeKill(report));
  return report.left.length === 0 ? EXIT.done : EXIT.failed;
}
