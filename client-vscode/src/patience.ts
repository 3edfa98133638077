/**
 * What the work gives. Rejects once `refused` does, or where it takes longer than `ms`: whoever does the work is not waited
 * for then.
 */
export async function within<T>(ms: number, work: Promise<T>, refused: Promise<never>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => {
      reject(new Error(`no answer within ${ms / 1000} s`));
    }, ms);
  });
  try {
    return await Promise.race([work, refused, late]);
  } finally {
    clearTimeout(timer);
  }
}
