/** A way to a syslog receiver. */
export interface Connection {
  /** Whether it is of no more use: the other end has closed it or is gone. */
  isBroken(): boolean;
  /** Resolves once the operating system has taken all frames; rejects when the connection breaks before. */
  write(frames: readonly string[]): Promise<void>;
  /**
   * Closes it and waits until the receiver has closed it in turn, which it does when it has read to the end. Rejects
   * when it may not have read everything. Datagrams cannot be followed so far.
   */
  finish(): Promise<void>;
  destroy(): void;
}
