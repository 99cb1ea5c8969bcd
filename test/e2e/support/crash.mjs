/** For `node --import`: the process crashes at SIGUSR2, as with an uncaught error. */
process.on('SIGUSR2', () => {
  setImmediate(() => {
    throw new Error('crashed on purpose');
  });
});
