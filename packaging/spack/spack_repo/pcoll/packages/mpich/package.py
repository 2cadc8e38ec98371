"""Spack's mpich with the variant `pcoll`: persistent collectives run as plans."""

import os
import sys

from spack_repo.builtin.packages.mpich.package import Mpich as BuiltinMpich

from spack.package import *

# The repository that this recipe lies in. A site that copies the recipe names another, and pins a commit.
HOME = os.path.realpath(os.path.join(os.path.dirname(__file__), *[os.pardir] * 6))


class Mpich(BuiltinMpich):
    __doc__ = BuiltinMpich.__doc__

    variant("pcoll", default=False, when="@4.0:4.3,5.0 device=ch4",
            description="Run persistent collectives as plans of deferred work")
    variant("pcoll_ucx", default=False, when="+pcoll netmod=ofi",
            description="Plans between nodes also over UCX, on request")

    resource(name="pcoll", when="+pcoll", placement="pcoll",
             git=os.environ.get("PCOLL_GIT", "file://" + HOME),
             branch=os.environ.get("PCOLL_BRANCH", "main"))

    with when("+pcoll"):
        for tool in ("autoconf@2.67:", "automake@1.15:", "libtool@2.4.4:", "m4", "perl", "python@3.8:"):
            depends_on(tool, type="build")
        depends_on("libfabric@1.14:", when="netmod=ofi")
        depends_on("ucx@1.11:", when="netmod=ucx")
    depends_on("ucx@1.11:", when="+pcoll_ucx")

    def graft(self, python, *options):
        tree = self.stage.source_path
        python(join_path(tree, "pcoll", "maint", "graft"), *options, tree)

    def patch(self):
        """Edit MPICH's text, behind all patches of Spack's. There are no autotools here yet."""
        if self.spec.satisfies("+pcoll"):
            self.graft(Executable(sys.executable), "--no-regenerate")

    def autoreconf(self, spec, prefix):
        super().autoreconf(spec, prefix)
        if spec.satisfies("+pcoll"):
            self.graft(which("python3", required=True))

    def configure_args(self):
        arguments = super().configure_args()
        if self.spec.satisfies("+pcoll"):
            wires = "ucx" if self.spec.satisfies("netmod=ucx") else "ofi"
            if self.spec.satisfies("+pcoll_ucx"):
                wires += ",ucx"
            arguments += ["--with-coll=offload", f"--with-coll-wires={wires}"]
        return arguments
