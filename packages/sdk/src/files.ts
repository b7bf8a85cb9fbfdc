import type { FileEntry, FileStat } from "@reins/api";
import type { Abortable, Http, RequestContent } from "./http.ts";

/** The session whose folders a path is in; without one, those of the caller's tenant. */
export interface FileOptions extends Abortable {
  readonly session?: string | undefined;
}

/** Which part of a file to read. */
export interface ReadFileOptions extends FileOptions {
  /** The first byte; 0 by default. */
  readonly start?: number | undefined;
  /** The byte to stop before; the end by default. */
  readonly end?: number | undefined;
  /** Rejects with the code `conflict` if the file is no longer this one, to continue an earlier reading. */
  readonly version?: string | undefined;
}

/** What is written. Streams and iterables are sent as they are read; browsers can do so only with a `Blob`. */
export type FileContent = RequestContent | AsyncIterable<Uint8Array>;

/** A file that is being read, once. Rejects with {@link ConnectionError} if it ends early. */
export interface FileDownload extends AsyncIterable<Uint8Array> {
  /** The size of the whole file in bytes. */
  readonly size: number;
  /** Changes with the content. */
  readonly version: string | undefined;
  /** Yields the bytes as they arrive. Leaving the loop ends the transfer. */
  [Symbol.asyncIterator](): AsyncGenerator<Uint8Array>;
  /** Reads it as UTF-8, up to 64 MiB. */
  text(): Promise<string>;
  /** Ends a transfer that is not read. */
  cancel(): Promise<void>;
}

/** A file that was written. */
export interface WrittenFile {
  readonly path: string;
  readonly bytesWritten: number;
}

/** What came of an archive: the first 1,024 of its files, and whether there are more. */
export interface UploadedFiles {
  readonly paths: readonly string[];
  readonly truncated: boolean;
}

const load = async () => (await import("./file-requests.ts")).fileRequests;

/** Files on the server's machine. Paths are absolute, or from the folder of the session or of the tenant. */
export class FilesClient {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /** Lists a folder. */
  async list(path?: string, options: FileOptions = {}): Promise<readonly FileEntry[]> {
    return (await load()).list(this.#http, path, options);
  }

  /** Describes a file or folder. */
  async stat(path: string, options: FileOptions = {}): Promise<FileStat> {
    return (await load()).stat(this.#http, path, options);
  }

  /** Opens a file, or a part of one, whose bytes are read with `for await`. */
  async read(path: string, options: ReadFileOptions = {}): Promise<FileDownload> {
    return (await load()).read(this.#http, path, options);
  }

  /** Writes a file and makes its folders. Others see the old content or the new one, whole. */
  async write(path: string, content: FileContent, options: FileOptions = {}): Promise<WrittenFile> {
    return (await load()).write(this.#http, path, content, options);
  }

  /** Unpacks a tar archive into a folder: all of it, or nothing. */
  async uploadBatch(
    archive: FileContent,
    { path, ...options }: FileOptions & { readonly path?: string } = {},
  ): Promise<UploadedFiles> {
    return (await load()).uploadBatch(this.#http, path, archive, options);
  }

  /** Makes a folder and those that it is in. */
  async mkdir(path: string, options: FileOptions = {}): Promise<void> {
    return (await load()).mkdir(this.#http, path, options);
  }

  /** Moves a file or folder; what is at its destination is replaced only with `overwrite`. */
  async move(
    from: string,
    to: string,
    { overwrite = false, ...options }: FileOptions & { readonly overwrite?: boolean } = {},
  ): Promise<void> {
    return (await load()).move(this.#http, { from, to, overwrite }, options);
  }

  /** Deletes a file, a link or a folder; one that is not empty only with `recursive`. */
  async delete(
    path: string,
    { recursive = false, ...options }: FileOptions & { readonly recursive?: boolean } = {},
  ): Promise<void> {
    return (await load()).remove(this.#http, path, recursive, options);
  }
}
