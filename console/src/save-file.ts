/** Has the browser store a text as a file. */
export function saveFile(name: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: 'application/yaml' }));
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  // The download starts after the current task and needs the URL until then.
  setTimeout(() => URL.revokeObjectURL(url), 0);
}
