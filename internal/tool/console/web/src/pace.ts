/** pollInterval is the longest time between two polls, in ms. It is the usual length of the detector's windows. */
export const pollInterval = 10_000;

/**
 * Pace chooses when to poll, so that a window is shown within a second after it is complete. It learns how long after
 * its end a window is complete, by the browser's clock, and polls half a second earlier after each poll in time.
 */
export class Pace {
  private asOf = 0; // end of the newest complete window
  private lag = 5000; // ms from a window's end until it is complete
  private misses = 0; // polls since then

  /** next returns the time until the next poll in ms, after an answer whose newest complete window ends at asOf. */
  next(asOf: string | undefined, now = Date.now()): number {
    const end = Date.parse(asOf ?? "") || 0;
    if (end === this.asOf) return Math.min(pollInterval, 1000 * 2 ** this.misses++);
    this.lag = this.misses > 0 ? Math.min(now - end, this.lag + 1000) : this.lag - 500;
    [this.asOf, this.misses] = [end, 0];
    return Math.min(pollInterval, Math.max(1000, end + pollInterval + this.lag - now));
  }
}
