import { type Self, selfOperations } from "@reins/api";
import type { AcpOptions } from "./acp-connection.ts";
import { AgentsClient } from "./agents.ts";
import { ApprovalsClient } from "./approvals.ts";
import { FilesClient } from "./files.ts";
import { type Abortable, Http } from "./http.ts";
import { type CheckpointStore, LedgerClient } from "./ledger.ts";
import { RunsClient } from "./runs.ts";
import { Sessions } from "./sessions.ts";

/** Options of {@link connect}. */
export interface ReinsClientOptions extends AcpOptions, Abortable {
  /** Compares the ledger with the checkpoint kept here before anything else, and keeps the newest. */
  readonly checkpoints?: CheckpointStore | undefined;
}

/** A Reins, as one principal uses it. */
export interface ReinsClient extends AsyncDisposable {
  /** Who the server takes the caller for. */
  readonly self: Self;
  readonly sessions: Sessions;
  readonly approvals: ApprovalsClient;
  readonly agents: AgentsClient;
  readonly files: FilesClient;
  readonly ledger: LedgerClient;
  readonly runs: RunsClient;
  /** Ends the connection. Sessions, turns and approvals go on. */
  close(): Promise<void>;
}

/**
 * Connects to a Reins: `const reins = await connect("http://127.0.0.1:18789", { token })`. Rejects with
 * {@link ConnectionError}, {@link ApiError} (a token that is not valid), or {@link LedgerProofError}.
 */
export async function connect(url: string | URL, options: ReinsClientOptions = {}): Promise<ReinsClient> {
  const { checkpoints, signal } = options;
  const http = new Http(url, options);
  const self = await http.call(selfOperations.getSelf, { signal });
  const ledger = new LedgerClient(http);
  if (checkpoints) await ledger.compare(checkpoints, { signal });
  const sessions = new Sessions(url, http, options, self.workspace);
  const close = () => sessions.close();
  return {
    self,
    sessions,
    approvals: new ApprovalsClient(http),
    agents: new AgentsClient(http),
    files: new FilesClient(http),
    ledger,
    runs: new RunsClient(http),
    close,
    [Symbol.asyncDispose]: close,
  };
}
