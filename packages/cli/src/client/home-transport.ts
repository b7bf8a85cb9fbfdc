import { homedir } from "node:os";
import { errorMessage } from "@reins/kit";
import type { Access, Gateway } from "@reins/server";
import { Harness } from "@reins/supervisor";
import { readConfiguration } from "../configuration/configuration.ts";
import { homeRedactor } from "../configuration/home-redactor.ts";
import { namedPolicyFiles } from "../configuration/policy-files.ts";
import { CliError, EXIT } from "../errors.ts";
import { homeTables } from "../harness/home-store.ts";
import { operatorSocketIn } from "../home.ts";
import { isLocked, ledgerError } from "../ledger/ledger-error.ts";
import { WritableLedger } from "../ledger/open-ledger.ts";
import { SeenCheckpoints } from "../ledger/seen-checkpoints.ts";
import { type Notice, noticeOnStderr } from "../output.ts";
import { openAccess, operatorGateway } from "../serving/gateway.ts";
import type { ApiTransport, TransportRequest, TransportResponse } from "./transport.ts";

/** Opens a home on which no Reins runs. Meanwhile this process holds its lock. */
export class HomeTransport implements ApiTransport {
  readonly address: string;
  readonly #gateway: Gateway;
  readonly #harness: Harness;
  readonly #writable: WritableLedger;

  private constructor(
    address: string,
    parts: { gateway: Gateway; harness: Harness; writable: WritableLedger },
  ) {
    this.address = address;
    this.#gateway = parts.gateway;
    this.#harness = parts.harness;
    this.#writable = parts.writable;
  }

  /** Rejects a ledger that was changed since it was last seen. */
  static async open(home: string, { json }: { readonly json?: boolean | undefined }): Promise<HomeTransport> {
    const notice = noticeOnStderr(json);
    const access = await openAccess({ home });
    const file = await readConfiguration(home);
    const policyFiles = namedPolicyFiles({ home, environment: process.env, file });
    const redactor = await homeRedactor({ home, environment: process.env, file });
    const writable = await openWritable(home, notice);
    try {
      const { store, ledger } = writable;
      const onError = (error: unknown) => notice(errorMessage(error));
      const parts = { home, policyFiles, userHome: homedir(), store, ledger, redactor, onError };
      const harness = await Harness.open(parts);
      return new HomeTransport(home, {
        gateway: await createGateway(access, harness, notice),
        harness,
        writable,
      });
    } catch (error) {
      await writable.abandon();
      throw ledgerError(error, home);
    }
  }

  send({ method, path, body }: TransportRequest): Promise<TransportResponse> {
    return this.#gateway.inject({ method, path, body });
  }

  async close(): Promise<void> {
    try {
      await this.#gateway.close();
      await this.#harness.close();
    } finally {
      await this.#writable.close();
    }
  }
}

async function openWritable(home: string, notice: Notice): Promise<WritableLedger> {
  try {
    const seen = SeenCheckpoints.ofUser(process.env);
    return await WritableLedger.open({ home, tables: homeTables, seen, notice });
  } catch (error) {
    throw isLocked(error) ? homeInUse(home, error) : ledgerError(error, home);
  }
}

async function createGateway(access: Access, harness: Harness, notice: Notice): Promise<Gateway> {
  const report = (fields: object, message: string) =>
    notice("err" in fields ? `${message}: ${errorMessage(fields.err)}` : message);
  const ignore = () => undefined;
  try {
    return await operatorGateway(access, harness, {
      debug: ignore,
      info: ignore,
      warn: report,
      error: report,
    });
  } catch (error) {
    await harness.close();
    throw error;
  }
}

function homeInUse(home: string, cause: unknown): CliError {
  return new CliError(`Another process holds ${home}, and no Reins answers on ${operatorSocketIn(home)}.`, {
    next: "If Reins is starting or stopping, or another command runs, try again; else end that process.",
    exitCode: EXIT.taken,
    cause,
  });
}
