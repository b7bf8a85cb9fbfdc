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
/** How long the answer to a prompt waits for a stream whose client does not read. */
const LONGEST_SENDING_MS = 2_000;

/** Something that happened outside of the log: a prompt that failed before its turn began. */
export interface PromptFailure {
  readonly record: SessionRecord;
  readonly message: string;
}

export interface EventStreamOptions {
  readonly hosting: Hosting;
  /** Whether each event comes with its folder, as `/global/event` has it. */
  readonly isGlobal: boolean;
}

/** The last event that a client has seen: the position of its message in the log, and its place among the events of that. */
interface LastEvent {
  readonly order: number;
  readonly index: number;
}

/** The streams of events that clients have open. */
export class EventStreams {
  readonly #open = new Set<EventStream>();

  /** Streams what happens in the sessions of a principal, until its client disconnects or its token is revoked. */
  async serve(call: AuthorizedCall, open: () => SseWriter, options: EventStreamOptions): Promise<void> {
    const stream = new EventStream(call, options, lastEventOf(call));
    this.#open.add(stream);
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
      this.#open.delete(stream);
      stream.close();
    }
  }

  failed(failure: PromptFailure): void {
    for (const stream of this.#open) stream.failed(failure);
  }

  /**
   * Settles when what is in the log of a session was sent on the streams that show it, or after a short while. OpenCode's
   * command line exits at the answer to its prompt, whatever of its stream it has not yet printed.
   */
  async sent({ hub }: Hosting, record: SessionRecord): Promise<void> {
    const { order } = await hub.log.end(record.tenant);
    const sending = [...this.#open].map((stream) => stream.sent(record, order));
    const waiting = Promise.withResolvers<void>();
    const cancel = hub.clock.after(LONGEST_SENDING_MS, waiting.resolve);
    await Promise.race([Promise.all(sending), waiting.promise]);
    cancel();
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
  /** Whether the client saw what came before the stream began: it continues an earlier one. */
  readonly isSeen: boolean;
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
  /** Settles when the stream follows its sessions. */
  readonly #following = Promise.withResolvers<void>();
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
    for (const listed of records.filter(({ id }) => !this.#followed.has(id))) {
      // The store may be a moment behind.
      const record = hub.live(listed.id)?.record ?? listed;
      const { turn_after = 0, state } = record;
      const isSeen = this.#last !== undefined;
      const since = state === "running" && !isSeen ? turn_after : 0;
      this.#followed.set(record.id, { record, since, isSeen, info: infoText(record) });
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
    for (const followed of this.#followed.values())
      if (followed.record.state === "running" && !followed.isSeen) await this.#fold(followed, from.order);
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
    this.#following.resolve();
    const { promise, resolve } = Promise.withResolvers<void>();
    if (writer.closed.aborted) resolve();
    else writer.closed.addEventListener("abort", () => resolve(), { once: true });
    await promise;
  }

  close(): void {
    this.#unwatch();
    this.#subscription?.close();
    this.#following.resolve();
  }

  /** Settles when the messages of a session up to a position were sent, if it is shown here. */
  async sent(record: SessionRecord, order: number): Promise<void> {
    if (!this.#maySee(record)) return;
    await this.#following.promise;
    await this.#subscription?.reached(order);
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
      this.#followed.set(record.id, { record, since: 0, isSeen: false, info: text });
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
    if (!transcript) return this.#begun(followed, event);
    const made = transcript.take(event);
    if (made.some((one) => "approval" in one)) return this.#sendResolved(followed, event, made);
    return this.#send(followed, event, made);
  }

  /** Takes the first message that comes of a session: its turn may have begun before the stream did. */
  async #begun(followed: Followed, event: LoggedEvent): Promise<void> {
    await this.#fold(followed, event.order - 1);
    await this.#take(event);
  }

  /** Folds what came before in the turn under way, and sends it if this client has seen none of it. */
  async #fold(followed: Followed, until: number): Promise<void> {
    const { record, since, isSeen } = followed;
    const transcript =
      since < until
        ? await readTranscript(this.#hosting, record, { after: since, until, most: 2 })
        : newTranscript(this.#hosting, record, 2);
    followed.transcript = transcript;
    const ended = transcript.messages.at(-1)?.info.time.completed ?? 0;
    if (isSeen || (!transcript.isOpen && ended < Date.parse(this.#opened))) return;
    for (const one of transcript.newestTurn) {
      const event = await this.#resolve(one);
      if (event) this.#sendNow(event, contentId(`${this.#opened}${JSON.stringify(event)}`), record.cwd);
    }
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
