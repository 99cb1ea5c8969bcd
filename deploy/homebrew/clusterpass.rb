# `npm run release` fills in version and checksum.
class Clusterpass < Formula
  desc "Find clusters of a Kubernetes fleet and get short-lived passes to them"
  homepage "https://github.com/clusterpass/clusterpass"
  url "{{downloads}}/clusterpass-{{version}}.tgz"
  sha256 "{{sha256 clusterpass-{{version}}.tgz}}"
  license "Apache-2.0"

  depends_on "node"

  def install
    system "npm", "install", *std_npm_args
    bin.install_symlink libexec.glob("bin/*")
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/clusterpass --version")
  end
end
