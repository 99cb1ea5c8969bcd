/** For `node --import`: the process crashes at SIGUSR2, as by an unexpected fault. */
process.on('SIGUSR2', () => {
  setImmediate(() => {
    throw new Error('crashed on purpose');
  });
});
