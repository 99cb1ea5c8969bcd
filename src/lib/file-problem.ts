export const codeOf = (error: unknown): string => (error as NodeJS.ErrnoException | undefined)?.code ?? '';

const PROBLEMS: Readonly<Record<string, string>> = {
  EEXIST: 'there is a file where a directory has to be',
  ENOENT: 'no such file or directory',
  ENOTDIR: 'not a directory',
  EISDIR: 'is a directory',
  EACCES: 'permission denied',
  EPERM: 'operation not permitted',
  EROFS: 'read-only file system',
  ENOSPC: 'no space left on device',
  EFBIG: 'the file is larger than this process may write',
  EDQUOT: 'the disk quota is used up',
  EMFILE: 'too many open files',
  ENAMETOOLONG: 'the name is too long',
  ELOOP: 'is a symbolic link',
  EADDRINUSE: 'the address is in use by another program',
};

/** The system's error about a file in words. Node's message has the error code and the name of a system call. */
export const fileProblem = (error: unknown): string => PROBLEMS[codeOf(error)] ?? (error as Error).message;
