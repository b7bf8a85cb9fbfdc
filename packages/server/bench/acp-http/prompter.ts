/** One way to prompt the stub agent, and to hear what it says. */
export interface Prompter {
  readonly name: string;
  /** Prompts; settles with the answer. */
  prompt(text: string): Promise<void>;
  /** How many updates arrived so far. */
  updates(): number;
  /** Settles when so many have arrived, or none has for a while. */
  arrived(count: number): Promise<void>;
  close(): Promise<void>;
}
