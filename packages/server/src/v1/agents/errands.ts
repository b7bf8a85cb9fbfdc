/** One thing that is being done, and what is told of it. */
interface Errand<News> {
  readonly followers: Set<(news: News) => void>;
  last: News | undefined;
  readonly ended: Promise<void>;
}

/**
 * Things that take their time and are done once, however many want them: who comes while one is under way follows it.
 * It goes on when nobody does.
 */
export class Errands<News> {
  readonly #errands = new Map<string, Errand<News>>();

  /** Whether something of that name is under way. */
  has(name: string): boolean {
    return this.#errands.has(name);
  }

  /** Follows what is under way under a name, or begins it; settles when it has ended. Never rejects. */
  async follow(
    name: string,
    begin: (tell: (news: News) => void) => Promise<void>,
    follower: (news: News) => void,
  ): Promise<void> {
    const errand = this.#errands.get(name) ?? this.#begin(name, begin);
    if (errand.last !== undefined) follower(errand.last);
    errand.followers.add(follower);
    await errand.ended;
    errand.followers.delete(follower);
  }

  #begin(name: string, begin: (tell: (news: News) => void) => Promise<void>): Errand<News> {
    const { promise: ended, resolve } = Promise.withResolvers<void>();
    const errand: Errand<News> = { followers: new Set(), last: undefined, ended };
    this.#errands.set(name, errand);
    const tell = (news: News) => {
      errand.last = news;
      for (const follower of errand.followers) follower(news);
    };
    void begin(tell).finally(() => {
      this.#errands.delete(name);
      resolve();
    });
    return errand;
  }
}
