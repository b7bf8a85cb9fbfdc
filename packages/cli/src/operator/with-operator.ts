import { existsSync } from "node:fs";
import { databaseIn, operatorSocketIn } from "../home.ts";
import { noLedger } from "../ledger/fault.ts";
import { noticeOnStderr } from "../notice.ts";
import { isLoopback } from "../serving/loopback.ts";
import { isServed } from "../serving/socket.ts";
import type { OperatorFlags } from "./flags.ts";
import { HttpCarrier } from "./http-carrier.ts";
import { Operator } from "./operator.ts";
import { settlePlace } from "./place.ts";

/**
 * Runs something as the operator of a Reins: the one at `--url`, else the one that runs on the home, else the home itself,
 * opened in this process and closed afterwards.
 */
export async function withOperator<Result>(
  flags: OperatorFlags,
  use: (operator: Operator) => Promise<Result>,
): Promise<Result> {
  const place = settlePlace(flags, process.env);
  if (place.url) {
    if (place.url.protocol === "http:" && place.token !== undefined && !isLoopback(place.url.hostname))
      noticeOnStderr(flags.json)(`The token travels unencrypted to ${place.url.host}.`);
    return use(new Operator(new HttpCarrier(place)));
  }
  const { home } = place;
  const socket = operatorSocketIn(home);
  if (await isServed(socket)) return use(new Operator(new HttpCarrier({ socket })));
  if (!existsSync(databaseIn(home))) throw noLedger(home);
  const { HomeCarrier } = await import("./home-carrier.ts");
  const carrier = await HomeCarrier.open(home, flags);
  try {
    return await use(new Operator(carrier));
  } finally {
    await carrier.close();
  }
}
