import type { JsonObject } from "@reins/acp";
import {
  type Cursor,
  type Hosting,
  type LoggedEvent,
  type SessionRecord,
  type Subscription,
  turnsOf,
} from "@reins/host";
import { Repeater, type SseWriter } from "@reins/kit";
import { isAdmin, type Principal } from "@reins/supervisor";
import { HttpProblem } from "../problems.ts";
import type { AuthorizedCall } from "../routes/router.ts";
import { replyTo, shownPermission } from "./permissions.ts";
import { newTranscript, readTranscript } from "./prompts.ts";
import { contentId, orderedId, PROJECT, permissionIdOf, sessionIdOf, sessionInfo } from "./shapes.ts";
import type { SessionTranscript, TranscriptEvent } from "./transcript.ts";

/** The most sessions that a stream follows from its beginning; one that is used later is followed from then on. */
const MOST_FOLLOWED = 1_000;
/** Clients of OpenCode take a stream for dead that is silent for fifteen seconds. */
const HEARTBEAT_MS = 10_000;

/** Something that happened outside of the log: a prompt that failed before its turn began. */
export interface PromptFailure {
  readonly record: SessionRecord;
  readonly message: string;
}

export interface EventStreamOptions {
  readonly hosting: Hosting;
  /** Whether each event comes with its folder, as `/global/event` has it. */
  readonly isGlobal: boolean;
  /** Subscribes to prompts that fail; returns `unsubscribe`. */
  readonly onFailure: (listener: (failure: PromptFailure) => void) => () => void;
}

/** The last event that a client has seen: the position of its message in the log, and its place among the events of that. */
interface LastEvent {
  readonly order: number;
  readonly index: number;
}

/** Streams what happens in the sessions of a principal, until its client disconnects or its token is revoked. */
export async function streamEvents(
  call: AuthorizedCall,
  open: () => SseWriter,
  options: EventStreamOptions,
): Promise<void> {
  const last = lastEventOf(call);
  const stream = new EventStream(call, options, last);
  const unsubscribe = options.onFailure((failure) => stream.failed(failure));
  let heartbeat: Repeater | undefined;
  try {
    const from = await stream.begin();
    const writer = open();
    heartbeat = new Repeater(
      options.hosting.hub.clock,
      HEARTBEAT_MS,
      async () => stream.beat(await call.currentPrincipal()),
      () => writer.end(),
    );
    await stream.follow(writer, from);
  } finally {
    heartbeat?.stop();
    unsubscribe();
    stream.close();
  }
}

function lastEventOf({ request }: AuthorizedCall): LastEvent | undefined {
  const { "last-event-id": given } = request.headers;
  if (given === undefined || given === "") return undefined;
  const [, order, index] = /^(\d{1,15})\.(\d{1,6})$/.exec(String(given)) ?? [];
  if (order === undefined || index === undefined)
    throw new HttpProblem("invalid", "Last-Event-ID is the id of an event that was seen");
  return { order: Number(order), index: Number(index) };
}

/** A session in a stream. */
interface Followed {
  record: SessionRecord;
  /** A position before the turn under way. */
  readonly since: number;
  transcript?: SessionTranscript;
  /** What was last sent of its record. */
  info: string;
}

class EventStream {
  readonly #hosting: Hosting;
  readonly #options: EventStreamOptions;
  readonly #call: AuthorizedCall;
  readonly #last: LastEvent | undefined;
  readonly #followed = new Map<string, Followed>();
  /** When it was opened, RFC 3339. */
  readonly #opened: string;
  #principal: Principal;
  #writer: SseWriter | undefined;
  #subscription: Subscription | undefined;
  #unwatch: () => void = () => undefined;
  /** Whether its client was notified that events are lost, or is to be. */
  #hasLost = false;

  constructor(call: AuthorizedCall, options: EventStreamOptions, last: LastEvent | undefined) {
    this.#call = call;
    this.#principal = call.principal;
    this.#hosting = options.hosting;
    this.#opened = options.hosting.hub.clock.now().toISOString();
    this.#options = options;
    this.#last = last;
  }

  /** Finds the sessions and the position at which the stream begins. */
  async begin(): Promise<Cursor> {
    const { hub } = this.#hosting;
    // Before they are listed: what is begun meanwhile is followed, too.
    this.#unwatch = hub.watch((record) => this.#changed(record));
    const { epoch, order } = await hub.log.end(this.#principal.tenant);
    const start = this.#last ? Math.max(0, Math.min(this.#last.order - 1, order)) : order;
    const records = await hub.list(this.#principal, { open: true, limit: MOST_FOLLOWED });
    for (const record of records.filter(({ id }) => !this.#followed.has(id))) {
      const { turn_after = 0, state } = record;
      const since = state === "running" && !this.#last ? turn_after : 0;
      this.#followed.set(record.id, { record, since, info: infoText(record) });
    }
    this.#hasLost = this.#last !== undefined && this.#last.order > order;
    return { epoch, order: start };
  }

  /** Sends events until the reader is gone. */
  async follow(writer: SseWriter, from: Cursor): Promise<void> {
    const { hub } = this.#hosting;
    this.#writer = writer;
    const connected = { type: "server.connected", properties: {} };
    this.#sendNow(connected, contentId(`${connected.type}${from.epoch}.${from.order}`));
    if (this.#hasLost) this.#sendLost();
    this.#subscription = hub.log.subscribe(
      {
        tenant: this.#principal.tenant,
        event: (event) => this.#take(event),
        gap: () => this.#lost(),
        failed: () => writer.end(),
      },
      from,
    );
    for (const id of this.#followed.keys()) this.#add(id, from.order);
    const { promise, resolve } = Promise.withResolvers<void>();
    if (writer.closed.aborted) resolve();
    else writer.closed.addEventListener("abort", () => resolve(), { once: true });
    await promise;
  }

  close(): void {
    this.#unwatch();
    this.#subscription?.close();
  }

  /** Sends a heartbeat; ends the stream of a principal that may not read it any more. */
  beat(principal: Principal | undefined): void {
    if (!principal) {
      this.#writer?.end();
      return;
    }
    this.#principal = principal;
    const at = this.#hosting.hub.clock.now().getTime();
    this.#sendNow({ type: "server.heartbeat", properties: {} }, orderedId("evt", { at, order: 0 }));
  }

  failed({ record, message }: PromptFailure): void {
    if (!this.#maySee(record)) return;
    const sessionID = sessionIdOf(record.id);
    const error = { name: "UnknownError", data: { message } };
    const at = this.#hosting.hub.clock.now().getTime();
    for (const event of [
      { type: "session.error", properties: { sessionID, error } },
      { type: "session.status", properties: { sessionID, status: { type: "idle" } } },
      { type: "session.idle", properties: { sessionID } },
    ])
      this.#sendNow(event, contentId(`${at}${JSON.stringify(event)}`), record.cwd);
  }

  #maySee({ tenant, principal }: SessionRecord): boolean {
    return (
      tenant === this.#principal.tenant && (principal === this.#principal.id || isAdmin(this.#principal))
    );
  }

  #add(id: string, after: number): void {
    this.#subscription?.add(id, after);
    this.#subscription?.add(turnsOf(id), after);
  }

  #lost(): void {
    if (!this.#hasLost) this.#sendLost();
    this.#hasLost = true;
  }

  /** Sends that events are lost: a client of OpenCode then reads everything anew. */
  #sendLost(): void {
    const event = { type: "server.instance.disposed", properties: { directory: "" } };
    this.#sendNow(event, contentId(`${event.type}${this.#opened}`));
  }

  /** Sends that a session is new, changed or ended. */
  #changed(record: SessionRecord): void {
    if (!this.#maySee(record)) return;
    const known = this.#followed.get(record.id);
    const text = infoText(record);
    if (record.ended) {
      this.#followed.delete(record.id);
      for (const channel of [record.id, turnsOf(record.id)]) this.#subscription?.remove(channel);
      if (known) this.#sendSession("session.deleted", record);
      return;
    }
    if (!known) {
      // It may have begun its turn before it was known here.
      this.#followed.set(record.id, { record, since: 0, info: text });
      this.#add(record.id, this.#subscription?.position ?? 0);
      this.#sendSession(record.created_at >= this.#opened ? "session.created" : "session.updated", record);
      return;
    }
    const isSame = known.info === text;
    Object.assign(known, { record, info: text });
    if (!isSame) this.#sendSession("session.updated", record);
  }

  #sendSession(type: string, record: SessionRecord): void {
    const info = sessionInfo(record);
    const event = { type, properties: { sessionID: info.id, info } };
    this.#sendNow(event, contentId(JSON.stringify(event)), record.cwd);
  }

  /** Takes a message of the log. Waits only where something has to be read for it. */
  #take(event: LoggedEvent): void | Promise<void> {
    const followed =
      this.#followed.get(event.session) ?? this.#followed.get(event.session.replace(/^turns:/, ""));
    if (!followed || !this.#maySee(followed.record)) return;
    const { transcript } = followed;
    if (!transcript) return this.#folded(followed, event);
    const made = transcript.take(event);
    if (made.some((one) => "approval" in one)) return this.#sendResolved(followed, event, made);
    return this.#send(followed, event, made);
  }

  /** Folds what came before in the turn under way, then takes the message. */
  async #folded(followed: Followed, event: LoggedEvent): Promise<void> {
    const { record, since } = followed;
    followed.transcript =
      since < event.order - 1
        ? await readTranscript(this.#hosting, record, { after: since, until: event.order - 1, most: 2 })
        : newTranscript(this.#hosting, record, 2);
    await this.#take(event);
  }

  /** Sends events after looking up the approvals that they are about. */
  async #sendResolved(
    followed: Followed,
    event: LoggedEvent,
    made: readonly TranscriptEvent[],
  ): Promise<void> {
    const resolved = await Promise.all(made.map((one) => this.#resolve(one)));
    await this.#send(followed, event, resolved);
  }

  async #resolve(event: TranscriptEvent): Promise<Sent | undefined> {
    if (!("approval" in event)) return event;
    const { approvals } = this.#call.harness;
    const approval = await approvals.get(event.approval, this.#principal.tenant);
    const tool = event.type === "asked" ? event.tool : undefined;
    const shown = approval && shownPermission(this.#principal, approval, tool);
    if (!approval || !shown) return undefined;
    if (event.type === "asked") return { type: "permission.asked", properties: shown };
    const { sessionID } = shown;
    const properties = { sessionID, requestID: permissionIdOf(approval.id), reply: replyTo(approval) };
    return { type: "permission.replied", properties };
  }

  #send(
    { record }: Followed,
    event: LoggedEvent,
    made: readonly (TranscriptEvent | Sent | undefined)[],
  ): void | Promise<void> {
    const { order } = event;
    const seen = order === this.#last?.order ? this.#last.index : -1;
    let room: Promise<void> | undefined;
    for (const [index, one] of made.entries()) {
      if (!one || "approval" in one || index <= seen) continue;
      const text = this.#text(one, orderedId("evt", event, index), record.cwd);
      room = this.#writer?.push(`id: ${order}.${index}\n${text}`) ?? room;
    }
    return room;
  }

  /** Sends an event that has no position in the log. */
  #sendNow(event: Sent, id: string, directory?: string): void {
    void this.#writer?.push(this.#text(event, id, directory));
  }

  #text({ type, properties }: Sent, id: string, directory: string | undefined): string {
    const payload = { id, type, properties };
    const place = directory === undefined ? {} : { directory, project: PROJECT };
    return `data: ${JSON.stringify(this.#options.isGlobal ? { ...place, payload } : payload)}\n\n`;
  }
}

interface Sent {
  readonly type: string;
  readonly properties: JsonObject;
}

/** What of a record clients are shown, but for the time of its last activity. */
function infoText(record: SessionRecord): string {
  const { time: _, ...info } = sessionInfo(record);
  return JSON.stringify(info);
}
