"""What holds on this machine: harmless attempts at every boundary of a session.

`examine` opens a session as `redlane run` does and has each attempt made in there;
nothing is changed that is not put back, whether it holds or not.
"""
