import type { Message } from "../wire/message.ts";

/** Where what belongs to one request of the agent goes. */
export interface ReplyTo {
  /** Sends its response, or something on the way there. */
  send(message: Message): void;
  /** Nothing more will come. */
  done(): void;
}

/** The agent, as far as it can be reached without having asked. */
export interface AgentLink {
  /** Sends what belongs to no request. Says whether anybody takes it. */
  push(message: Message): boolean;
}
