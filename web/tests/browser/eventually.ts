/** Calls a function until it returns something, for at most half a minute. */
export async function eventually<T>(what: string, ask: () => Promise<T | undefined>, seconds = 30): Promise<T> {
  const end = Date.now() + seconds * 1000;
  while (Date.now() < end) {
    const result = await ask();
    if (result !== undefined) return result;
    await new Promise(resolve => setTimeout(resolve, 50));
  }
  throw new Error(`waited ${seconds} seconds for ${what}`);
}
