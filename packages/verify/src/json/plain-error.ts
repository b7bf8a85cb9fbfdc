/** A value that is JSON but not the plain JSON of the format: nested too deep, not finite, half a surrogate pair. */
export class PlainError extends Error {
  override readonly name = "PlainError";
}
