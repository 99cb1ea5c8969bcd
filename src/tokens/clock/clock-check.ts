/** A clock on the wall, beside something that it can be compared with. */
export interface ClockCheck {
  /**
   * By how many milliseconds our clock is wrong, at the least: negative when it is behind, 0 when nothing speaks against
   * it. Asked for every token, so it does not wait for anybody.
   */
  skewMs(): number;
}
