/** Where a model is found. */
export interface ModelEndpoint {
  /** The address before any path of an API, without a slash at its end. */
  readonly url: string;
  readonly key: string;
  /** The name to ask for; the agent's usual one when there is none. */
  readonly model?: string;
}
