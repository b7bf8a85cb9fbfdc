/** Why a text is not JSON that AHP accepts. */
export type JsonFault = "syntax" | "too_deep" | "too_many_members" | "number_out_of_range" | "lone_surrogate";

/** Thrown by {@link parseJson}; `fault` is for programs, `message` for people. */
export class JsonError extends Error {
  override readonly name = "JsonError";
  readonly fault: JsonFault;

  constructor(fault: JsonFault, message: string, options?: ErrorOptions) {
    super(message, options);
    this.fault = fault;
  }
}
